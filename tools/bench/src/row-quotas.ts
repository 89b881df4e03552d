import pg from "pg";
import type { Installation } from "./installation.ts";
import { closedLoop, HttpClients } from "./load.ts";
import { insertServers } from "./many-servers.ts";
import { createSubnet, made, registerOrganisation, registerRegion } from "./organisations.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;

/** POST /servers of an organisation with quotas and many servers, compared with one that has neither, in turn. */
export async function quotaRow(installation: Installation, seconds: number, servers: number): Promise<Row> {
  const opened: HttpClients[] = [];
  const clientsFor = (headers: Record<string, string>) => {
    const clients = new HttpClients(installation.api.urls, CLIENTS, headers);
    opened.push(clients);
    return clients;
  };
  const operator = clientsFor({ authorization: `Bearer ${installation.operatorToken}` });
  await registerRegion(operator, "quota1", 100_000);
  const register = (slug: string) =>
    registerOrganisation(operator, clientsFor, installation.operatorToken, slug, "quota1");
  const [limited, free] = [await register("quota-limited"), await register("quota-free")];
  // Creates need a subnet without the other servers, whose addresses are not of its range.
  const subnetId = await createSubnet(
    clientsFor({ authorization: `Bearer ${limited.token}` }),
    "empty",
    "quota1",
  );
  const owner = new pg.Client({ connectionString: installation.ownerUrl });
  await owner.connect();
  await insertServers(owner, limited, servers, "5a");
  await owner.end();
  const { status, body } = await operator.send("PUT", `/organisations/${limited.organisationId}/quotas`, {
    limits: { servers: 1_000_000, vcpu: 10_000_000, memory_mb: 1_000_000_000, disk_gb: 1_000_000_000 },
  });
  if (status !== 200) throw new Error(`setting the quotas answered ${status}: ${body}`);

  let serial = 0;
  const creates = (of: typeof limited) => {
    const clients = clientsFor({ authorization: `Bearer ${of.token}` });
    return async () => {
      serial += 1;
      const server = { name: `quota-${serial}`, region: "quota1", image: "ubuntu-24.04", package: "s" };
      await made(clients, "/servers", { ...server, subnet_id: of.subnetId });
    };
  };
  const [withQuotas, without] = [creates({ ...limited, subnetId }), creates(free)];
  const [ours, bare]: [number[], number[]] = [[], []];
  for (const act of [withQuotas, without]) await closedLoop(CLIENTS, 1, act);
  for (let round = 0; round < 3; round += 1) {
    ours.push((await closedLoop(CLIENTS, seconds / 3, withQuotas)).perSecond);
    bare.push((await closedLoop(CLIENTS, seconds / 3, without)).perSecond);
  }
  for (const clients of opened) clients.close();
  const ratio = median(ours) / median(bare);
  return {
    what: `POST /servers with quotas and ${servers} servers, ${CLIENTS} clients`,
    ours: `${Math.round(median(ours))}/s`,
    floor: `${Math.round(median(bare))}/s without either`,
    ratio: ratio.toFixed(2),
    aim: "≥ 0.90",
    reached: ratio >= 0.9,
  };
}
