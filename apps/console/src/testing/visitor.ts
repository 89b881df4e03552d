import { formTokenField } from "../csrf.ts";
import type { TestPanel } from "./test-panel.ts";

/** A browser without a screen: keeps cookies, follows nothing by itself, sends forms as browsers do. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #panel: Pick<TestPanel, "app">;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(panel: Pick<TestPanel, "app">, headers: Readonly<Record<string, string>> = {}) {
    this.#panel = panel;
    this.#headers = headers;
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers({ host: "console.test", ...this.#headers });
    new Headers(init.headers).forEach((value, name) => {
      headers.set(name, value);
    });
    if (this.cookies.size > 0)
      headers.set("cookie", [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await this.#panel.app.request(`http://console.test${path}`, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = cookie.split("; ");
      const [name = "", ...value] = pair.split("=");
      if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, value.join("="));
    }
    return response;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.request(path, { headers });
  }

  async page(path: string): Promise<string> {
    return (await this.get(path)).text();
  }

  /** Sends a form with the token of the page it is on, from that page. */
  async submit(
    from: string,
    action: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return this.post(action, { [formTokenField]: tokenIn(await this.page(from)), ...fields }, headers);
  }

  post(
    action: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      for (const one of [value].flat()) body.append(name, one);
    return this.request(action, {
      method: "POST",
      body: body.toString(),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: "http://console.test",
        "sec-fetch-site": "same-origin",
        ...headers,
      },
    });
  }

  /** Another browser with the same cookies: changes of its cookies do not affect this one. */
  twin(): Visitor {
    const twin = new Visitor(this.#panel, this.#headers);
    for (const [name, value] of this.cookies) twin.cookies.set(name, value);
    return twin;
  }

  async signIn(email = "ada@example.org", password = "correct horse"): Promise<this> {
    const response = await this.submit("/sign-in", "/sign-in", { email, password, return_to: "/servers" });
    if (response.status !== 303) throw new Error(`sign-in answered ${response.status}`);
    return this;
  }
}

export function tokenIn(page: string): string {
  const token = new RegExp(`name="${formTokenField}" value="([^"]+)"`).exec(page)?.[1];
  if (token === undefined) throw new Error("the page has no form");
  return token;
}

/** The value of a hidden or text field in a page. */
export function fieldIn(page: string, name: string): string | undefined {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1];
}
