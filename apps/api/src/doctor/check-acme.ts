import { AcmeUnavailable } from "@kule/certificates/acme/acme-error";
import { BadSettings, type Settings } from "../platform/settings.ts";
import { openCertificateAuthority } from "../worker/certificate-authority.ts";
import type { Environment } from "./diagnose.ts";
import { type Finding, good, wordsOf, wrong } from "./finding.ts";

const check = "certificate authority";
const patienceMs = 10_000;

/** Whether the CA's directory answers, and the worker has the master key. */
export async function checkAcme({ acme }: Settings, environment: Environment): Promise<Finding[]> {
  if (acme === null) return [good(check, "none: certificates are uploaded only (KULE_ACME_FILE)")];
  try {
    const { client } = openCertificateAuthority(acme, environment);
    try {
      await client.directory(AbortSignal.timeout(patienceMs));
    } finally {
      client.close();
    }
    return [good(check, `${new URL(acme.file.directoryUrl).host} answers`)];
  } catch (error) {
    return [wrong(check, wordsOf(error), wayOut(error, acme.path))];
  }
}

function wayOut(error: unknown, path: string): string {
  if (error instanceof BadSettings)
    return error.message.includes("KULE_MASTER_KEY")
      ? "write a key into the file that KULE_MASTER_KEY_FILE names: openssl rand -base64 32"
      : `correct ${path} (docs/acme.md)`;
  if (error instanceof AcmeUnavailable && error.reason === "address-refused")
    return `a CA in a network of your own needs network: any in ${path}`;
  return `check directory and ca_file of ${path}, and that this machine may connect there`;
}
