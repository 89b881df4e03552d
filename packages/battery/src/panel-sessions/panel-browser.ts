/**
 * A browser without a screen: keeps cookies, follows nothing by itself, and sends forms as they are on their
 * page.
 */
export class PanelBrowser {
  readonly cookies = new Map<string, string>();
  /** The attributes that each cookie was last given with. */
  readonly attributes = new Map<string, readonly string[]>();
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  get(path: string): Promise<Response> {
    return this.send(path, {});
  }

  /** Sends the form of a page, with some of its fields filled in. */
  async submit(page: string, action: string, fields: Readonly<Record<string, string>>): Promise<Response> {
    return this.post(action, { ...(await this.hiddenFields(page, action)), ...fields });
  }

  /** A form's hidden fields; of several forms with one action the first that can be sent. */
  async hiddenFields(page: string, action: string): Promise<Record<string, string>> {
    const response = await this.get(page);
    const text = await response.text();
    const form = text
      .split("<form")
      .map((part) => part.split("</form>")[0] ?? "")
      .find((part) => part.includes(`action="${action}"`) && part.includes("<button"));
    if (form === undefined)
      throw new Error(`${page} is answered ${response.status} and has no form for ${action}`);
    const hidden: Record<string, string> = {};
    for (const [, name = "", value = ""] of form.matchAll(
      /<input type="hidden" name="([^"]+)" value="([^"]*)"/g,
    ))
      hidden[name] = value;
    return hidden;
  }

  post(action: string, fields: Readonly<Record<string, string>>): Promise<Response> {
    return this.send(action, {
      method: "POST",
      body: new URLSearchParams(fields).toString(),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: this.#url,
        "sec-fetch-site": "same-origin",
      },
    });
  }

  async signIn({
    email,
    password,
  }: {
    readonly email: string;
    readonly password: string;
  }): Promise<Response> {
    return this.submit("/sign-in", "/sign-in", { email, password, return_to: "/servers" });
  }

  /** Another browser with the same cookies, like a thief's copy. */
  copy(): PanelBrowser {
    const other = new PanelBrowser(this.#url);
    for (const [name, value] of this.cookies) other.cookies.set(name, value);
    return other;
  }

  /** Whether the panel accepts these cookies as a session, and the API does as well. */
  async isSignedIn(): Promise<boolean> {
    const response = await this.get("/account/security");
    await response.arrayBuffer();
    return response.status === 200;
  }

  /** Any request with the browser's cookies; a forged one too. */
  async send(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.cookies.size > 0)
      headers.set("cookie", [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await fetch(`${this.#url}${path}`, { ...init, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = cookie.split("; ");
      const [name = "", ...value] = pair.split("=");
      this.attributes.set(name, attributes);
      if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, value.join("="));
    }
    return response;
  }
}
