import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedReleases } from "@kule/api/testing/release-folders";

/** Where nobody listens: an answer never depends on name servers or a CA. */
const dnsFile = `
provider:
  type: powerdns
  url: http://127.0.0.1:9
  api_key_env: KULE_DNS_API_KEY
name_servers:
  - name: "*.ns1.kule.example"
    addresses: [127.0.0.1]
    port: 9
  - name: "*.ns2.kule.example"
    addresses: [127.0.0.1]
    port: 9
resolving:
  roots: [127.0.0.1]
  port: 9
  allow_private: true
`;
const acmeFile = "directory: https://127.0.0.1:9/dir\nagrees_to_terms: true\nnetwork: any\n";

/** The settings of an installation that serves domains, has a CA and updates agents, as the API of the proofs has them. */
export function installationFiles(): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "kule-installation-"));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return {
    KULE_DNS_FILE: write("dns.yaml", dnsFile),
    KULE_ACME_FILE: write("acme.yaml", acmeFile),
    KULE_AGENT_RELEASES: sharedReleases(),
  };
}
