// A person at the panel without a script: cookies, pages, and forms with what their pages have put into them.

/** A control's attributes as they are written. */
type Attributes = Readonly<Record<string, string>>;

export class PanelVisitor {
  readonly #cookies = new Map<string, string>();
  readonly #origin: string;
  readonly #send: (request: Request) => Promise<Response>;

  constructor(origin: string, send: (request: Request) => Promise<Response>) {
    this.#origin = origin;
    this.#send = send;
  }

  /** The text of a page; where it leads elsewhere, that page. */
  async page(path: string): Promise<string> {
    const response = await this.#request(path);
    const to = response.headers.get("location");
    if (response.status === 303 && to !== null) return await this.page(to);
    if (response.status !== 200) throw new Error(`GET ${path} answers ${response.status}`);
    return await response.text();
  }

  /**
   * Sends the form of a page that has this action, with its hidden fields; of several the one with the button that is named.
   *
   * @returns the path that the answer leads to
   */
  async submit(
    from: string,
    action: string,
    fields: Readonly<Record<string, string>>,
    button?: readonly [name: string, value: string],
  ): Promise<string> {
    const body = new URLSearchParams({
      ...hiddenFields(await this.page(from), action, button),
      ...fields,
      ...(button === undefined ? {} : { [button[0]]: button[1] }),
    });
    const response = await this.#request(action, {
      method: "POST",
      body: body.toString(),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: this.#origin,
        referer: `${this.#origin}${from}`,
        "sec-fetch-site": "same-origin",
      },
    });
    const to = response.headers.get("location");
    if (response.status === 303 && to !== null) return to;
    const said = textOf(await response.text());
    throw new Error(`the form ${action} of ${from} answers ${response.status}: ${said.slice(0, 2_000)}`);
  }

  async #request(path: string, init: RequestInit = {}): Promise<Response> {
    const request = new Request(new URL(path, this.#origin), { ...init, redirect: "manual" });
    if (this.#cookies.size > 0)
      request.headers.set("cookie", [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await this.#send(request);
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = cookie.split(/; */);
      const [name = "", ...value] = pair.split("=");
      if (attributes.some((each) => /^max-age=0$/i.test(each))) this.#cookies.delete(name);
      else this.#cookies.set(name, value.join("="));
    }
    return response;
  }
}

function hiddenFields(
  page: string,
  action: string,
  button: readonly [name: string, value: string] | undefined,
): Record<string, string> {
  const forms = [...page.matchAll(/<form\s([^>]*)>([\s\S]*?)<\/form>/g)].filter(
    ([, tag = ""]) => attributesOf(tag).action === action,
  );
  const form = forms.find(([, , inner = ""]) => button === undefined || hasButton(inner, ...button));
  if (form === undefined)
    throw new Error(
      `the page has no form ${action}${button === undefined ? "" : ` with the button ${button.join("=")}`}: ${textOf(page).slice(0, 2_000)}`,
    );
  return Object.fromEntries(
    [...(form[2] ?? "").matchAll(/<input\s([^>]*)>/g)]
      .map(([, tag = ""]) => attributesOf(tag))
      .filter(({ type }) => type === "hidden")
      .map(({ name = "", value = "" }) => [name, value]),
  );
}

const hasButton = (form: string, name: string, value: string): boolean =>
  [...form.matchAll(/<button\s([^>]*)>/g)]
    .map(([, tag = ""]) => attributesOf(tag))
    .some((each) => each.name === name && each.value === value && each.disabled === undefined);

const attributesOf = (tag: string): Attributes =>
  Object.fromEntries(
    [...tag.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)].map(([, name = "", value = ""]) => [
      name,
      unescaped(value),
    ]),
  );

/** What a person reads. */
export const textOf = (page: string): string =>
  unescaped(page.replaceAll(/<(script|style|svg)[\s\S]*?<\/\1>/g, "").replaceAll(/<[^>]*>/g, " "))
    .replaceAll(/\s+/g, " ")
    .trim();

const unescaped = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
