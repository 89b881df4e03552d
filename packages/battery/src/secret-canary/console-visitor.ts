/** A person at the console as it is served: keeps cookies, sends forms as browsers do, follows nothing by itself. */
export class ConsoleVisitor {
  readonly cookies = new Map<string, string>();
  /** Every cookie it was ever given. */
  readonly given = new Set<string>();
  readonly pages: { readonly path: string; readonly text: string }[] = [];
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await fetch(this.#url + path, { ...init, headers, redirect: "manual" });
    for (const header of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = header.split("; ");
      const name = pair.slice(0, pair.indexOf("="));
      const value = pair.slice(name.length + 1);
      if (value !== "") this.given.add(value);
      if (attributes.includes("Max-Age=0") || value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    const place = `${response.status} ${response.headers.get("location") ?? ""}`;
    this.pages.push({ path: `${init.method ?? "GET"} ${path}`, text: `${place}\n${text}` });
    return new Response([204, 303, 304].includes(response.status) ? null : text, response);
  }

  async page(path: string): Promise<string> {
    return (await this.request(path)).text();
  }

  /** Fills in the form of that page and sends it. */
  async submit(from: string, action: string, fields: Readonly<Record<string, string>>): Promise<Response> {
    const page = await this.page(from);
    const hidden = Object.fromEntries(
      [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    );
    return this.request(action, {
      method: "POST",
      body: new URLSearchParams({ ...hidden, ...fields }).toString(),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: this.#url,
        "sec-fetch-site": "same-origin",
      },
    });
  }
}
