import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { claimThis, runJob } from "@kule/api/testing/proofs/region-agent";
import { made, Tenant } from "@kule/api/testing/proofs/tenant";
import { SoftPasskey } from "@kule/api/testing/soft-passkey";
import { type ClaimedJob, TestAgent } from "@kule/api/testing/test-agent";
import { seenAs, TestScanner } from "@kule/api/testing/test-scanner";
import pg from "pg";
import type { Plants } from "./payloads.ts";

/** A person who may see every page: a member of the organisation who is an operator as well. */
export type Spectator = { readonly email: string; readonly password: string };

const noSpace = { shape: /^[^\s@]+$/ };

/** An organisation in a region, in which each text that the API accepts unchanged is one of `plants`. */
export class HostileOrganisation {
  readonly spectator: Spectator;
  /** The secret of an invitation: its page is shown to every holder of it. */
  readonly invitation: string;
  /** Jobs that are over, and that a page may have known as open ones. */
  readonly ended: readonly string[];
  readonly server: string;
  /** One that an operator has locked. */
  readonly locked: string;
  readonly #session: ApiCaller;

  private constructor(
    parts: Pick<HostileOrganisation, "spectator" | "invitation" | "ended" | "server" | "locked">,
    session: ApiCaller,
  ) {
    this.#session = session;
    this.spectator = parts.spectator;
    this.invitation = parts.invitation;
    this.ended = parts.ended;
    this.server = parts.server;
    this.locked = parts.locked;
  }

  static async open(world: ApiWorld, plants: Plants): Promise<HostileOrganisation> {
    const region = await world.addRegion("ist1");
    const tenant = await Tenant.open(world, "acme", region);
    const acting = world.operator.with({ "Kule-Organisation": tenant.id });
    const owner = tenant.owner;
    const text = (field: string, longest = 100) => plants.text(field, { longest });

    made(await world.operator.patch(`/organisations/${tenant.id}`, { name: text("an organisation's name") }));
    made(await world.operator.patch(`/regions/${region.slug}`, { name: text("a region's name") }));
    made(
      await world.operator.post(`/regions/${region.slug}/agent-tokens`, {
        name: text("an agent token's name"),
      }),
    );

    const email = `${plants.text("a person's e-mail", noSpace)}@example.org`;
    const added = await addMember(owner, { email, name: text("a person's name"), role: "owner" });
    const spectator = { email, password: added.password };
    const invited = `${plants.text("an invitation's e-mail", noSpace)}@example.org`;
    const { secret } = made(await owner.post("/invitations", { email: invited, role: "viewer" }));
    made(await owner.post("/tokens", { name: text("a token's name"), role: "viewer" }));

    const key = tenant.sshKeyBody();
    const [type = "", blob = ""] = key.public_key.split(" ");
    const commented = {
      ...key,
      name: text("a key's name"),
      public_key: `${type} ${blob} ${text("a key's comment")}`,
    };
    made(await owner.post("/ssh-keys", commented));

    const network = await tenant.addNetwork();
    made(await owner.patch(`/networks/${network}`, { description: text("a network's description") }));
    const subnet = await tenant.addSubnet(network);
    const reservation = { ...tenant.reservationBody(), description: text("a reservation's description") };
    made(await owner.post(`/networks/${network}/subnets/${subnet}/reservations`, reservation));

    const pool = await tenant.openPublicNetwork(world, "198.18");
    const pooled = { name: text("a pool's name"), description: text("a pool's description") };
    made(await world.operator.patch(`/ip-pools/${pool}`, pooled));
    await tenant.addPublicIp();

    const agent = new TestAgent(region.agent);
    const { id: server, jobId } = await tenant.addServer({ subnet_id: subnet, public_ip: "auto" });
    const create = (await claimThis(region.agent, jobId)) as unknown as ClaimedJob;
    await agent.report(create, {
      phase: "apply",
      step: { name: "clone", status: "running", message: text("a step's message") },
    });
    await agent.succeed(create);

    const gateway = await tenant.addGatewayTo(network, subnet);
    made(await owner.patch(`/gateways/${gateway}`, { description: text("a gateway's description") }));
    const forward = {
      ...{ protocol: "tcp", listen_port: 443, server_id: server },
      description: text("a port forward's description"),
    };
    const { job: forwarding } = made(await owner.post(`/gateways/${gateway}/port-forwards`, forward));
    await tenant.applyToEdge(forwarding.id);

    const { firewall } = made(
      await owner.post("/firewalls", {
        ...tenant.firewallBody(),
        description: text("a firewall's description"),
        rules: [
          {
            protocol: "tcp",
            ports: ["22"],
            peers: [{ any: true }],
            description: text("a rule's description"),
          },
        ],
      }),
    );
    const attached = made(await owner.post(`/firewalls/${firewall.id}/attachments`, { server_id: server }));
    await runJob(region.agent, attached.job.id);

    const failed = await failWithHostileText(tenant, text);
    const { id: locked } = await tenant.addNamedServer({ subnet_id: subnet });
    made(await acting.post(`/servers/${locked}/lock`, { reason: text("a lock's reason") }));
    await scanWithHostileText(region.agent, create, text);
    await reportHostileHealth(region.agent, text);

    await makeOperator(world, email);
    const nobody = new ApiCaller(world.app, null, { "User-Agent": text("a browser's name for itself") });
    const opened = made(await nobody.post("/auth/login", { email, password: spectator.password }));
    const session = new ApiCaller(world.app, opened.token as string);
    return new HostileOrganisation(
      { spectator, invitation: secret, ended: [failed, jobId], server, locked },
      session,
    );
  }

  /** From here on a sign-in requires the passkey: whoever looks at pages has signed in before. */
  async addPasskey(plants: Plants): Promise<void> {
    const begun = made(await this.#session.post("/me/passkey-options", { purpose: "register" }));
    const response = new SoftPasskey().register(begun.options);
    const name = plants.text("a passkey's name", { longest: 60 });
    made(await this.#session.post("/me/passkeys", { ceremony: begun.ceremony, name, response }));
  }
}

type Text = (field: string, longest?: number) => string;

/** Several where there is room: one of them alone may be none that does anything there. */
const many = (text: Text, field: string) => Array.from({ length: 5 }, () => text(field)).join(" ");

/** A region's own texts are written by people at its hypervisor. */
async function reportHostileHealth(agent: ApiCaller, text: Text): Promise<void> {
  const report = {
    agent_version: "0.1.0",
    agent_name: text("an agent's name"),
    hypervisor: {
      ...{ kind: "proxmox", reachable: true, version: text("a hypervisor's version", 60) },
      message: text("a hypervisor's message"),
      nodes: [{ name: text("a node's name"), online: false }],
    },
    templates: [{ image: "ubuntu-24.04", ok: false, message: text("a template's message") }],
  };
  made(
    await agent.post("/agent/health", {
      ...report,
      edge: { reachable: false, message: text("an edge's message") },
    }),
  );
}

/** A job that its region's agent ends with a failure, and its message. */
async function failWithHostileText(tenant: Tenant, text: Text): Promise<string> {
  const { jobId } = await tenant.addServer();
  const outcome = {
    status: "failed",
    error: {
      ...{ code: "template_missing", retryable: true, step: text("an error's step", 60) },
      ...{ message: many(text, "an error's message"), internal: text("an error's internal text") },
    },
  };
  await runJob(tenant.region.agent, jobId, outcome);
  return jobId;
}

/** A region with a VM that was renamed manually, and another one that was created manually. */
async function scanWithHostileText(agent: ApiCaller, create: ClaimedJob, text: Text): Promise<void> {
  const testScanner = new TestScanner(agent);
  const guest = {
    agent: true,
    cloud_init: "done" as const,
    addresses: [],
    os: text("a guest's system"),
    hostname: text("a guest's name for itself"),
  };
  const renamed = seenAs(create, { name: text("a machine's name"), guest });
  const other = {
    ...seenAs(create, { name: text("another machine's name"), tags: [text("a machine's tag")] }),
    ...{ vmid: 20_900, node: text("another node's name"), marker: null },
  };
  for (let look = 0; look < 3; look += 1)
    await testScanner.look([renamed, other], { trouble: text("a look's trouble") });
}

async function makeOperator({ database }: ApiWorld, email: string): Promise<void> {
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  try {
    await owner.query("update app_user set is_operator = true where email = $1", [email]);
  } finally {
    await owner.end();
  }
}
