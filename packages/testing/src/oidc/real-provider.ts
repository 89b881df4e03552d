import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";

export type RealAccount = { readonly email: string; readonly email_verified: boolean; readonly name: string };

/** The `oidc-provider` package on this machine, with its own pages for signing in: any password will do. */
export class RealProvider {
  readonly #server: Server;
  readonly clientId = "kule";
  readonly clientSecret = "the-client-secret-of-the-real-provider";
  #redirectUri: string;
  readonly #accounts = new Map<string, RealAccount>();
  #provider: Provider | null = null;
  #refusesCodes = false;

  private constructor(server: Server, redirectUri: string) {
    this.#server = server;
    this.#redirectUri = redirectUri;
  }

  /** @param redirectUri the one address that it redirects browsers to; `sendBackTo` changes it */
  static async start(redirectUri = "https://panel.invalid/"): Promise<RealProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const provider = new RealProvider(server, redirectUri);
    server.on("request", (request, response) => {
      if (provider.#refusesCodes && request.url?.startsWith("/token")) request.socket.destroy();
      else provider.#provider?.callback()(request, response);
    });
    await provider.rotateKeys();
    return provider;
  }

  /** By the name of this machine: cookies of its address would be the panel's, too. */
  get issuer(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async sendBackTo(redirectUri: string): Promise<void> {
    this.#redirectUri = redirectUri;
    await this.rotateKeys();
  }

  /** @param subject what the person types as their login */
  addAccount(subject: string, account: RealAccount): void {
    this.#accounts.set(subject, account);
  }

  /** From here on its pages work, and every code is refused. */
  refuseCodes(): void {
    this.#refusesCodes = true;
  }

  /** Restarts the provider, with keys of its own. */
  async rotateKeys(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const key = { ...(await exportJWK(privateKey)), use: "sig", alg: "RS256", kid: `key-${Date.now()}` };
    const configuration: Configuration = {
      clients: [
        {
          client_id: this.clientId,
          client_secret: this.clientSecret,
          redirect_uris: [this.#redirectUri],
          response_types: ["code"],
          grant_types: ["authorization_code"],
          token_endpoint_auth_method: "client_secret_basic",
        },
      ],
      jwks: { keys: [key] } as NonNullable<Configuration["jwks"]>,
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      cookies: { keys: ["only a test"] },
      pkce: { required: () => true },
      findAccount: (_context, id) => {
        const account = this.#accounts.get(id);
        return account === undefined
          ? undefined
          : { accountId: id, claims: async () => ({ sub: id, ...account }) };
      },
    };
    this.#provider = new Provider(this.issuer, configuration);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/**
 * Goes to the provider as a browser would, signs in there and agrees.
 *
 * @returns the query that the provider sends the browser back with
 */
export async function signInAtProvider(authorizationUrl: string, login: string): Promise<string> {
  const jar = new Map<string, string>();
  let url = new URL(authorizationUrl);
  let form: Record<string, string> | null = null;
  for (let step = 0; step < 12; step += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer: Response = await fetch(url, {
      redirect: "manual",
      headers: { cookie },
      ...(form === null ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });
    form = null;
    for (const set of answer.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split(/=(.*)/s);
      jar.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location !== null) {
      const next = new URL(location, url);
      if (next.origin !== new URL(authorizationUrl).origin) return next.search.slice(1);
      url = next;
      continue;
    }
    const page = await answer.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined)
      throw new Error(`the provider shows ${answer.status} ${page.slice(0, 500)}`);
    url = new URL(action, url);
    form = prompt === "login" ? { prompt, login, password: "whatever" } : { prompt };
  }
  throw new Error("the provider goes round in circles");
}
