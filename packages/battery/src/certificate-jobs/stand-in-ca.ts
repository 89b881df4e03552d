import { createHash, randomBytes, type webcrypto } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ServerIdentity, serverIdentity } from "@kule/lab/certificate";
import { type CaAnswer, type CaFault, type CaPlace, faultAnswer, isAtPlace, problem } from "./ca-faults.ts";
import { CaKeys, type CaLifetime, type CaOrder, ninetyDays } from "./ca-orders.ts";
import { isBound, readSigned, type SignedRequest, thumbprintOf } from "./signed-request.ts";

type Settings = {
  /** The values of a TXT record, as the Internet sees them. */
  lookUp(name: string): Promise<readonly string[]>;
  /** Names are taken for proven without a look, as of a customer who has proven them before. */
  readonly trustsNames?: boolean;
  /** Only accounts that are bound to this one are made. */
  readonly external?: { readonly keyId: string; readonly hmacKey: string };
};

type Account = { readonly key: webcrypto.JsonWebKey; readonly thumbprint: string };

/**
 * A CA (RFC 8555, RFC 9773) in this process that checks signatures and nonces, looks for the answers of challenges, and fails
 * as it is told.
 */
export class StandInCa {
  readonly identity: ServerIdentity;
  readonly keys: CaKeys;
  readonly orders: CaOrder[] = [];
  /** The places that were asked, in their order. */
  readonly asked: CaPlace[] = [];
  lifetime: CaLifetime = ninetyDays;
  /** When it wants all certificates renewed; null: it does not say. */
  window: { readonly startMs: number; readonly endMs: number } | null = null;
  /** Before it looks for the answers of a challenge. */
  beforeLook: (name: string) => Promise<void> = async () => {};
  readonly #settings: Settings;
  readonly #server: Server;
  readonly #folder: string;
  readonly #accounts: Account[] = [];
  readonly #nonces = new Set<string>();
  #faults: CaFault[] = [];
  #met = 0;

  private constructor(settings: Settings, keys: CaKeys) {
    this.#settings = settings;
    this.keys = keys;
    this.#folder = mkdtempSync(join(tmpdir(), "kule-stand-in-ca-"));
    this.identity = serverIdentity(this.#folder, ["127.0.0.1", "localhost"], new Date());
    const { keyPem: key, certificatePem: cert } = this.identity;
    // A connection stays for as long as the client wants it: what is lost on it is lost in the same way each time.
    this.#server = createServer({ key, cert, keepAliveTimeout: 600_000 }, (request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
  }

  static async open(settings: Settings): Promise<StandInCa> {
    const ca = new StandInCa(settings, await CaKeys.make());
    await new Promise<void>((resolve) => ca.#server.listen(0, "127.0.0.1", resolve));
    return ca;
  }

  get origin(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get directoryUrl(): string {
    return `${this.origin}/dir`;
  }

  /** Fails like this until `recover`, or as often as the fault says. */
  fail(...faults: readonly CaFault[]): void {
    this.#faults = [...faults];
    this.#met = 0;
  }

  recover(): void {
    this.#faults = [];
  }

  /** How often something has failed since `fail`. */
  get met(): number {
    return this.#met;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const body = await text(request);
    const signed = body === "" ? null : readSigned(body);
    const place = placeOf(path, signed);
    this.asked.push(place);
    const fault = this.#take(place);
    if (fault?.do === "cut") return void request.socket.destroy();
    const early = faultAnswer(fault, "before");
    const answer = early ?? (await this.#answer(path, place, signed, fault));
    if (fault?.do === "lost") return void request.socket.destroy();
    const { status = 200, headers = {}, body: sent } = faultAnswer(fault, "after") ?? answer;
    const isText = typeof sent === "string";
    const type = isText ? "application/pem-certificate-chain" : typeFor(status);
    const json = sent === undefined || isText ? sent : JSON.stringify(sent);
    response.writeHead(status, { "Replay-Nonce": this.#nonce(), "Content-Type": type, ...headers });
    response.end(request.method === "HEAD" ? undefined : json);
  }

  #take(place: CaPlace): CaFault | null {
    const index = this.#faults.findIndex((each) => isAtPlace(each, place));
    const fault = this.#faults[index];
    if (fault === undefined) return null;
    this.#met += 1;
    if (fault.calls !== undefined)
      this.#faults = this.#faults.flatMap((each, at) =>
        at !== index ? [each] : fault.calls === 1 ? [] : [{ ...each, calls: (fault.calls ?? 1) - 1 }],
      );
    return fault;
  }

  #nonce(): string {
    const nonce = randomBytes(16).toString("base64url");
    this.#nonces.add(nonce);
    return nonce;
  }

  async #answer(
    path: string,
    place: CaPlace,
    signed: SignedRequest | null,
    fault: CaFault | null,
  ): Promise<CaAnswer> {
    const { origin } = this;
    if (place === "directory") return { body: this.#directory() };
    if (place === "nonce") return { status: 204 };
    if (place === "renewal") return this.#renewal();
    if (signed === null) return problem(405, "malformed", "a POST is needed");
    const { header } = signed;
    if (header.nonce === undefined || !this.#nonces.delete(header.nonce))
      return problem(400, "badNonce", "the nonce is none of this CA, or was used");
    if (header.url !== `${origin}${path}`) return problem(401, "unauthorized", "signed for another URL");
    if (place === "account") return this.#makeAccount(signed);
    const account = this.#accounts[Number(header.kid?.split("/").at(-1))];
    if (account === undefined) return problem(400, "accountDoesNotExist", "no account has this key");
    if (!signed.isSignedBy(account.key)) return problem(401, "unauthorized", "signed by another key");
    if (place === "new order") return this.#newOrder(account, signed);
    const [, , number = "", part = ""] = path.split("/");
    const order = this.orders[Number(number)];
    if (order === undefined || order.thumbprint !== account.thumbprint)
      return problem(404, "malformed", "there is no such order");
    const authorization = order.authorizations[Number(part)];
    if (place === "order") return this.#order(Number(number), order);
    if (place === "finalize") return this.#finalize(Number(number), order, signed, fault);
    if (place === "certificate" && order.certificate !== null) return { body: order.certificate };
    if (authorization === undefined) return problem(404, "malformed", "there is no such thing");
    if (place === "challenge") await this.#look(order, authorization);
    return { body: this.#authorization(Number(number), Number(part), authorization) };
  }

  #directory() {
    const at = (path: string) => `${this.origin}/${path}`;
    return {
      newNonce: at("nonce"),
      newAccount: at("accounts"),
      newOrder: at("orders"),
      renewalInfo: at("renewal"),
      ...(this.#settings.external === undefined ? {} : { meta: { externalAccountRequired: true } }),
    };
  }

  #renewal(): CaAnswer {
    if (this.window === null) return problem(404, "malformed", "nothing is planned");
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const { startMs, endMs } = this.window;
    return {
      headers: { "Retry-After": "21600" },
      body: { suggestedWindow: { start: at(startMs), end: at(endMs) } },
    };
  }

  #makeAccount({ header: { jwk }, payload, isSignedBy }: SignedRequest): CaAnswer {
    if (jwk === undefined || !isSignedBy(jwk)) return problem(400, "malformed", "not signed by its own key");
    const { external } = this.#settings;
    if (external !== undefined && !isBound(payload?.externalAccountBinding, external))
      return problem(401, "externalAccountRequired", "the account is bound to none of this CA's customers");
    const thumbprint = thumbprintOf(jwk);
    const known = this.#accounts.findIndex((each) => each.thumbprint === thumbprint);
    const number = known === -1 ? this.#accounts.push({ key: jwk, thumbprint }) - 1 : known;
    return {
      status: known === -1 ? 201 : 200,
      headers: { Location: `${this.origin}/accounts/${number}` },
      body: { status: "valid" },
    };
  }

  #newOrder({ thumbprint }: Account, { payload }: SignedRequest): CaAnswer {
    const { identifiers = [] } = (payload ?? {}) as { readonly identifiers?: { readonly value: string }[] };
    const names = identifiers.map(({ value }) => value);
    const status = this.#settings.trustsNames === true ? ("valid" as const) : ("pending" as const);
    const authorizations = names.map((name) => ({
      name: name.replace(/^\*\./, ""),
      isWildcard: name.startsWith("*."),
      token: randomBytes(24).toString("base64url"),
      status,
    }));
    const number =
      this.orders.push({ names, authorizations, thumbprint, certificate: null, busyReads: 0 }) - 1;
    const order = this.orders[number] as CaOrder;
    const { body = {} } = this.#order(number, order);
    return { status: 201, headers: { Location: `${this.origin}/orders/${number}` }, body };
  }

  #order(number: number, order: CaOrder): CaAnswer {
    const at = (path: string) => `${this.origin}/${path}`;
    const isBusy = order.busyReads > 0;
    if (isBusy) order.busyReads -= 1;
    const status =
      order.certificate !== null ? (isBusy ? "processing" : "valid") : statusBefore(order.authorizations);
    return {
      headers: { Location: at(`orders/${number}`), ...(isBusy ? { "Retry-After": "5" } : {}) },
      body: {
        status,
        identifiers: order.names.map((value) => ({ type: "dns", value })),
        authorizations: order.authorizations.map((_, part) => at(`authorizations/${number}/${part}`)),
        finalize: at(`finalize/${number}`),
        ...(status === "valid" ? { certificate: at(`certificates/${number}`) } : {}),
      },
    };
  }

  async #finalize(
    number: number,
    order: CaOrder,
    { payload }: SignedRequest,
    fault: CaFault | null,
  ): Promise<CaAnswer> {
    if (order.certificate !== null || statusBefore(order.authorizations) !== "ready")
      return problem(403, "orderNotReady", "the order is not ready");
    const csr = Buffer.from(String(payload?.csr), "base64url");
    const flaw = fault?.do === "flawed" ? fault.flaw : null;
    const issued = await this.keys.issue(order.names, csr, this.lifetime, flaw);
    if (issued === null) return problem(400, "badCSR", "the request is for other names");
    order.certificate = issued;
    if (fault?.do === "busy") order.busyReads = fault.reads;
    return this.#order(number, order);
  }

  /** Looks for the answer, as the Internet sees it. */
  async #look(order: CaOrder, authorization: CaOrder["authorizations"][number]): Promise<void> {
    const { name, token } = authorization;
    if (authorization.status !== "pending") return;
    await this.beforeLook(name);
    const wanted = createHash("sha256").update(`${token}.${order.thumbprint}`).digest("base64url");
    const values = await this.#settings.lookUp(`_acme-challenge.${name}`);
    authorization.status = values.includes(wanted) ? "valid" : "invalid";
  }

  #authorization(
    number: number,
    part: number,
    { name, isWildcard, token, status }: CaOrder["authorizations"][number],
  ) {
    const error = {
      type: "urn:ietf:params:acme:error:unauthorized",
      detail: `the answer at _acme-challenge.${name} is another one`,
    };
    return {
      status,
      identifier: { type: "dns", value: name },
      ...(isWildcard ? { wildcard: true } : {}),
      challenges: [
        {
          type: "dns-01",
          url: `${this.origin}/challenges/${number}/${part}`,
          status,
          token,
          ...(status === "invalid" ? { error } : {}),
        },
      ],
    };
  }
}

function statusBefore(authorizations: CaOrder["authorizations"]): "pending" | "ready" | "invalid" {
  if (authorizations.some(({ status }) => status === "invalid")) return "invalid";
  return authorizations.every(({ status }) => status === "valid") ? "ready" : "pending";
}

function placeOf(path: string, signed: SignedRequest | null): CaPlace {
  const [, first = "", second] = path.split("/");
  const places: Readonly<Record<string, CaPlace>> = {
    dir: "directory",
    nonce: "nonce",
    accounts: "account",
    renewal: "renewal",
    authorizations: "authorization",
    challenges: "challenge",
    finalize: "finalize",
    certificates: "certificate",
    orders: second === undefined && signed !== null ? "new order" : "order",
  };
  return places[first] ?? "directory";
}

const typeFor = (status: number) => (status >= 400 ? "application/problem+json" : "application/json");
