import type { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld, type TestOrganisation } from "@kule/api/testing/api-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import { makeSealingKeyPair, type SealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import pg from "pg";

/** A region with everything of an organisation that belongs to it. */
export type Side = {
  readonly region: string;
  readonly agent: TestAgent;
  readonly key: SealingKeyPair;
  readonly network: string;
  readonly subnet: string;
  readonly cidr: string;
  /** A running server, with its interface. */
  readonly server: string;
  readonly nic: string;
  /** A job that waits, and one that the region's own agent holds, with its epoch. */
  readonly queuedJob: string;
  readonly heldJob: { readonly id: string; readonly epoch: number };
  readonly agentToken: string;
};

/** Regions of one installation, one organisation in all of them, and one region that is for others. */
export type Regions = {
  readonly api: ApiWorld;
  readonly organisation: TestOrganisation;
  readonly sides: readonly Side[];
  readonly closed: string;
  readonly owner: pg.Client;
  close(): Promise<void>;
};

const image = { image: "debian-13", package: "s" };

export async function openRegions(count: number): Promise<Regions> {
  const api = await ApiWorld.open();
  const owner = new pg.Client({ connectionString: api.database.ownerUrl });
  await owner.connect();
  const close = async () => {
    await owner.end();
    await api.close();
  };
  try {
    const organisation = await api.addOrganisation("acme");
    const others = await api.addOrganisation("globex");
    await api.addRegion("closed1", { restricted_to: [others.id] });
    const sides: Side[] = [];
    for (let index = 1; index <= count; index += 1)
      sides.push(await openSide(api, owner, organisation.owner, index));
    return { api, organisation, sides, closed: "closed1", owner, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openSide(api: ApiWorld, owner: pg.Client, acme: ApiCaller, index: number): Promise<Side> {
  const region = `reg${index}`;
  const agent = new TestAgent((await api.addRegion(region)).agent);
  const key = makeSealingKeyPair();
  must(
    await agent.api.post("/agent/health", {
      agent_version: "0.1.0",
      hypervisor: { kind: "proxmox", reachable: true },
      public_key: key.publicKey,
    }),
  );
  const network = must(
    await acme.post("/networks", { name: `n-${region}`, region, cidr: `10.${index}.0.0/16` }),
  ).network.id as string;
  const subnet = must(await acme.post(`/networks/${network}/subnets`, { name: "s", tier: "app" })).subnet;
  const create = async (name: string) =>
    must(await acme.post("/servers", { name, region, subnet_id: subnet.id, ...image }));
  const { server } = await create(`web-1-${region}`);
  await agent.work();
  const held = await create(`web-2-${region}`);
  const taken = await agent.take("ServerCreate");
  const queued = await create(`web-3-${region}`);
  const { rows: nics } = await owner.query<{ id: string }>("select id from nic where server_id = $1", [
    server.id,
  ]);
  const { rows: tokens } = await owner.query<{ id: string }>("select id from token where region = $1", [
    region,
  ]);
  return {
    region,
    agent,
    key,
    network,
    subnet: subnet.id,
    cidr: subnet.cidr,
    server: server.id,
    nic: nics[0]?.id ?? "",
    queuedJob: queued.job.id,
    heldJob: { id: held.job.id, epoch: taken.epoch },
    agentToken: tokens[0]?.id ?? "",
  };
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
function must({ status, body }: { status: number; body: any }): any {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
