import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { startDnsLab } from "@kule/lab/dns/dns-lab";
import { openReplica, type Replica } from "../api-world.ts";
import { made } from "./tenant.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** A replica whose questions to the Internet are answered. */
export type AskedInternet = {
  readonly replica: Replica;
  /** Adds a domain of the first organisation and proves it there. */
  proveDomain(): Promise<void>;
  close(): Promise<void>;
};

export async function openAskedInternet({ world, a: { tenant } }: TwoOrganisations): Promise<AskedInternet> {
  const dataDir = mkdtempSync(join(tmpdir(), "kule-internet-"));
  const lab = await startDnsLab({ dataDir, apiKey: "key" });
  const registrar = powerDnsProvider({ url: lab.url, apiKey: "key" });
  await registrar.createZone("proofs", ["ns1.proofs"]);
  const replica = await openReplica(world.database, {
    dns: {
      path: "dns.yaml",
      file: {
        nameServers: [{ pattern: "*.ns1.kule.example", addresses: [lab.address], port: lab.dnsPort }],
        resolving: {
          start: { kind: "roots", addresses: [lab.address] },
          port: lab.dnsPort,
          allowPrivate: true,
        },
        reverseZones: [],
      },
    },
  });
  return {
    replica,
    async proveDomain() {
      const owner = tenant.owner.at(replica.app);
      const { domain } = made(await owner.post("/domains", { name: `${tenant.name()}.proofs` }));
      const { name, value } = domain.verification.record;
      await registrar.changeZone("proofs", [
        {
          change: "replace",
          recordSet: { name: `${name}.`, type: "TXT", ttlSeconds: 60, contents: [`"${value}"`] },
        },
      ]);
      made(await owner.post(`/domains/${domain.id}/verify`));
    },
    async close() {
      await replica.close();
      await lab.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
