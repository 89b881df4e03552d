import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StandInCa } from "../certificate-jobs/stand-in-ca.ts";

/** The CA of the canary's installation, which takes its own customers only, and the secrets that the worker has for it. */
export class CanaryCa {
  readonly masterKey = randomBytes(32).toString("base64");
  readonly hmacKey: string;
  readonly ca: StandInCa;
  readonly #folder: string;

  private constructor(ca: StandInCa, hmacKey: string) {
    this.ca = ca;
    this.hmacKey = hmacKey;
    this.#folder = mkdtempSync(join(tmpdir(), "kule-canary-ca-"));
    writeFileSync(join(this.#folder, "ca.pem"), ca.identity.certificatePem);
    writeFileSync(
      join(this.#folder, "acme.yaml"),
      `directory: ${ca.directoryUrl}
agrees_to_terms: true
network: any
ca_file: ca.pem
external_account:
  key_id: canary
  hmac_key_env: KULE_CANARY_HMAC_KEY
`,
    );
  }

  static async open(): Promise<CanaryCa> {
    const hmacKey = randomBytes(32).toString("base64url");
    const external = { keyId: "canary", hmacKey };
    const ca = await StandInCa.open({ lookUp: async () => [], trustsNames: true, external });
    return new CanaryCa(ca, hmacKey);
  }

  /** Of the API and the worker. */
  get environment(): Readonly<Record<string, string>> {
    return {
      KULE_ACME_FILE: join(this.#folder, "acme.yaml"),
      KULE_MASTER_KEY: this.masterKey,
      KULE_CANARY_HMAC_KEY: this.hmacKey,
    };
  }

  async close(): Promise<void> {
    await this.ca.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
