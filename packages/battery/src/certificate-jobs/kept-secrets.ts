import { decryptAccountKey } from "@kule/certificates/acme/account-key";
import { dumpDatabase } from "../secret-search/database-dump.ts";
import { secretsOfKey } from "../secret-search/private-keys.ts";
import { searchSecrets, secretViolations } from "../secret-search/secret-search.ts";
import type { CertificateStage } from "./certificate-stage.ts";
import type { KnownKeys } from "./issued-once.ts";

/** Where the database has a private key in clear: one of a certificate that was in use, one of an account, the master key. */
export async function secretsInClear({ world }: CertificateStage, keys: KnownKeys): Promise<string[]> {
  const { masterKeys } = world.ca;
  const accounts = await world.served.rows("select directory_url, encrypted_key from acme_account");
  const secrets = [
    ...[...keys].flatMap((pem, index) => secretsOfKey(`key ${index + 1} of the certificate`, pem)),
    ...accounts.flatMap(({ directory_url, encrypted_key }) => {
      const key = decryptAccountKey(masterKeys, String(encrypted_key), String(directory_url));
      const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
      return secretsOfKey(`the account's key at ${directory_url}`, pem);
    }),
    { what: "the master key", value: world.masterKey },
  ];
  const tables = await dumpDatabase(world.served.world.database.ownerUrl);
  const sinks = tables
    .filter(({ rows }) => rows > 0)
    .map(({ name, text }) => ({ name: `table ${name}`, text, control: text.slice(0, 100) }));
  return secretViolations(searchSecrets(secrets, sinks));
}
