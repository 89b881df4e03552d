import { openAcmeClient } from "@kule/certificates/acme/acme-client";
import { BadMasterKey, type MasterKeys, readMasterKeys } from "@kule/certificates/master-key";
import { readAcmeExternalAccount } from "@kule/region-config/acme-file";
import { BadSettings, type Settings } from "../platform/settings.ts";
import type { CertificateAuthority } from "../products/certificates/index.ts";

/**
 * The CA that issues managed certificates, with the secrets that only the worker reads.
 *
 * @throws BadSettings for a secret that is not there, or is wrong
 */
export function openCertificateAuthority(
  { path, file }: NonNullable<Settings["acme"]>,
  environment: Readonly<Record<string, string | undefined>>,
): CertificateAuthority {
  const external = readAcmeExternalAccount(path, environment);
  if (typeof external === "string") throw new BadSettings(external);
  const { directoryUrl, contactEmails, network, rootsPem } = file;
  return {
    client: openAcmeClient({
      directoryUrl,
      network,
      ...(rootsPem === null ? {} : { rootsPem }),
    }),
    directoryUrl,
    contactEmails,
    external: external === null ? null : { keyId: external.keyId, hmacKey: external.hmacKey.reveal() },
    masterKeys: masterKeysOf(environment),
  };
}

function masterKeysOf(environment: Readonly<Record<string, string | undefined>>): MasterKeys {
  try {
    const keys = readMasterKeys(environment);
    if (keys !== null) return keys;
  } catch (error) {
    if (error instanceof BadMasterKey) throw new BadSettings(error.message);
    throw error;
  }
  throw new BadSettings(
    "KULE_ACME_FILE needs KULE_MASTER_KEY or KULE_MASTER_KEY_FILE: the key of the account at the CA is encrypted under it (docs/acme.md)",
  );
}
