import { createPublicKey, randomBytes, X509Certificate } from "node:crypto";
import { readCertificateRequest } from "@kule/certificates/read-request";
import { type MadeCertificate, makeCertificate } from "@kule/certificates/testing/made-certificates";

/** How a certificate is wrong that a CA gives. */
export type CertificateFlaw = "of another key" | "expired" | "of another chain";

type CaAuthorization = {
  readonly name: string;
  readonly isWildcard: boolean;
  readonly token: string;
  status: "pending" | "valid" | "invalid";
};

export type CaOrder = {
  readonly names: readonly string[];
  readonly authorizations: readonly CaAuthorization[];
  /** Of the account. */
  readonly thumbprint: string;
  /** In PEM, with the chain; null before it is finalized. */
  certificate: string | null;
  /** How often it is still told that the CA works on it. */
  busyReads: number;
};

/** Since when and until when, in ms from now. */
export type CaLifetime = { readonly fromMs: number; readonly toMs: number };

const dayMs = 86_400_000;
export const ninetyDays: CaLifetime = { fromMs: -3_600_000, toMs: 90 * dayMs - 3_600_000 };

type Chain = { readonly issuer: MadeCertificate; readonly keyId: string };

/** The keys of a CA, and what it issues with them. */
export class CaKeys {
  readonly #own: Chain;
  readonly #other: Chain;
  /** Those without a flaw, as fingerprints. */
  readonly issued: { readonly names: readonly string[]; readonly fingerprint: string }[] = [];

  private constructor(own: Chain, other: Chain) {
    this.#own = own;
    this.#other = other;
  }

  static async make(): Promise<CaKeys> {
    const validity = { notBefore: at(-30 * dayMs), notAfter: at(3_650 * dayMs) };
    const chain = async (name: string): Promise<Chain> => {
      const root = await makeCertificate({ subject: `CN=${name} Root`, isCa: true, ...validity });
      const issuer = await makeCertificate({
        subject: `CN=${name} R1`,
        isCa: true,
        issuer: root,
        ...validity,
      });
      return { issuer, keyId: randomBytes(20).toString("hex") };
    };
    return new CaKeys(await chain("Stand-in"), await chain("Stranger"));
  }

  /** @returns the chain in PEM; null for a request that is not for these names */
  async issue(
    names: readonly string[],
    csrDer: Buffer,
    { fromMs, toMs }: CaLifetime,
    flaw: CertificateFlaw | null,
  ): Promise<string | null> {
    const request = readCertificateRequest(csrDer);
    if (request === null || new Set(names).symmetricDifference(new Set(request.names)).size > 0) return null;
    const asked = createPublicKey({ key: request.publicKeyDer, format: "der", type: "spki" });
    const { issuer, keyId } = this.#own;
    const leaf = await makeCertificate({
      subject: `CN=${names[0]}`,
      names: names.map((value) => ({ type: "dns" as const, value })),
      issuer,
      authorityKeyId: keyId,
      ...(flaw === "of another key"
        ? {}
        : { publicKey: asked.toCryptoKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["verify"]) }),
      notBefore: at(flaw === "expired" ? -90 * dayMs : fromMs),
      notAfter: at(flaw === "expired" ? -60_000 : toMs),
    });
    const { fingerprint256 } = new X509Certificate(leaf.pem);
    if (flaw === null)
      this.issued.push({ names, fingerprint: fingerprint256.replaceAll(":", "").toLowerCase() });
    return leaf.pem + (flaw === "of another chain" ? this.#other : this.#own).issuer.pem;
  }
}

const at = (ms: number) => new Date(Date.now() + ms);
