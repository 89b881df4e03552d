import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

/** A person with an account at the provider. */
export type SoftPerson = {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
};

/** How an answer is not as it should be. */
export type OidcTwist = {
  /** In the ID token, in place of what is right. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Signed with a key that the provider does not show. */
  readonly foreignKey?: boolean;
  readonly unsigned?: boolean;
  /** Signed with the client's secret, as if it were an HMAC's key. */
  readonly symmetric?: boolean;
  /** In the query, in place of what is right; null leaves it out. */
  readonly query?: Readonly<Record<string, string | null>>;
  /** The provider's answer to the code. */
  readonly tokenError?: { readonly status: number; readonly error: string };
};

type Grant = {
  readonly person: SoftPerson;
  readonly twist: OidcTwist;
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
};

export const softClient = { id: "kule-tests", secret: "the-client-secret-of-the-tests" };

/**
 * An OpenID Connect provider without people: it answers at once and, on request, wrongly. Its checks are as
 * strict as a real one's: PKCE, the client's secret, the exact address, a code that is valid once.
 */
export class SoftProvider {
  readonly #server: Server;
  readonly #grants = new Map<string, Grant>();
  #key = newKey();
  #isDown = false;
  /** How many codes were presented to it, right or wrong. */
  codesTaken = 0;
  /** Codes, tokens and verifiers that were on the way: none may stay anywhere. */
  readonly secrets: string[] = [softClient.secret];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<SoftProvider> {
    const server = createServer();
    const provider = new SoftProvider(server);
    server.on("request", (request, response) => {
      provider.#answer(request, response).catch(() => response.writeHead(500).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Another key from here on, under another name. */
  rotateKey(): void {
    this.#key = newKey();
  }

  /** Every connection is closed at once, until it is up again. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
  }

  /** It is no reason for the process to stay. */
  letProcessEnd(): void {
    this.#server.unref();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The query that the browser is redirected with after the person agreed. */
  answer(authorizationUrl: string, person: SoftPerson, twist: OidcTwist = {}): string {
    const asked = new URL(authorizationUrl).searchParams;
    const of = (name: string) => asked.get(name) ?? "";
    if (of("client_id") !== softClient.id || of("response_type") !== "code")
      throw new Error(`the provider would refuse ${authorizationUrl}`);
    if (of("code_challenge_method") !== "S256" || !of("scope").split(" ").includes("openid"))
      throw new Error(`the provider would refuse ${authorizationUrl}`);
    const code = randomBytes(24).toString("base64url");
    this.secrets.push(code);
    this.#grants.set(code, {
      person,
      twist,
      nonce: of("nonce"),
      challenge: of("code_challenge"),
      redirectUri: of("redirect_uri"),
    });
    const query = new URLSearchParams({ code, state: of("state"), iss: this.issuer });
    for (const [name, value] of Object.entries(twist.query ?? {}))
      if (value === null) query.delete(name);
      else query.set(name, value);
    return query.toString();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isDown) return void request.socket.destroy();
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const { pathname } = new URL(request.url ?? "/", this.issuer);
    if (pathname === "/.well-known/openid-configuration") return void send(200, this.#metadata());
    if (pathname === "/jwks") return void send(200, { keys: [(await this.#key).jwk] });
    if (pathname !== "/token") return void send(404, {});
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    this.codesTaken += 1;
    if (!isOurClient(request.headers.authorization)) return void send(401, { error: "invalid_client" });
    const grant = this.#grants.get(form.get("code") ?? "");
    this.#grants.delete(form.get("code") ?? "");
    const verifier = form.get("code_verifier") ?? "";
    this.secrets.push(verifier);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    if (
      grant === undefined ||
      grant.challenge !== challenge ||
      grant.redirectUri !== form.get("redirect_uri")
    )
      return void send(400, { error: "invalid_grant" });
    const { tokenError } = grant.twist;
    if (tokenError !== undefined) return void send(tokenError.status, { error: tokenError.error });
    const tokens = {
      access_token: randomBytes(24).toString("base64url"),
      id_token: await this.#idToken(grant),
    };
    this.secrets.push(...Object.values(tokens));
    send(200, { ...tokens, token_type: "Bearer", expires_in: 60 });
  }

  async #idToken({ person, twist, nonce }: Grant): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims: JWTPayload = {
      iss: this.issuer,
      aud: softClient.id,
      iat: now,
      exp: now + 60,
      nonce,
      auth_time: now,
      ...person,
      ...twist.claims,
    };
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    if (twist.unsigned) return `${encoded({ alg: "none" })}.${encoded(claims)}.`;
    if (twist.symmetric)
      return new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(softClient.secret));
    const shown = await this.#key;
    const key = twist.foreignKey ? (await newKey()).key : shown.key;
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: shown.jwk.kid ?? "" }).sign(key);
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      // A provider that offers more than a client should accept.
      id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
      authorization_response_iss_parameter_supported: true,
    };
  }
}

async function newKey(): Promise<{ key: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const jwk = {
    ...(await exportJWK(publicKey)),
    kid: randomBytes(6).toString("hex"),
    use: "sig",
    alg: "RS256",
  };
  return { key: privateKey, jwk };
}

/** Both halves are encoded as forms are (RFC 6749, 2.3.1). */
function isOurClient(authorization = ""): boolean {
  const text = Buffer.from(authorization.replace(/^Basic /, ""), "base64").toString();
  const [id, secret] = text.split(":").map((part) => decodeURIComponent(part.replaceAll("+", " ")));
  return id === softClient.id && secret === softClient.secret;
}
