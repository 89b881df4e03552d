import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { newId } from "../../platform/ids.ts";
import { ApiCaller } from "../api-caller.ts";
import { TestAgent } from "../test-agent.ts";
import type { OperationCall } from "./operation-call.ts";
import { addPasskey, addPerson, personalCall } from "./person.ts";
import { recipes } from "./recipes.ts";
import { emptyEdgeQueue } from "./region-agent.ts";
import { made } from "./tenant.ts";
import { addAppliedDomain, addDomain } from "./tenant-domains.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

/** A call that changes something, and its caller. */
export type MutationCall = OperationCall & { readonly caller: ApiCaller };

/** A way to use a mutating operation. Prepared again it changes something again, in rows of the same shape. */
export type MutationCase = {
  /** The operation's id; after a colon what is special about it. */
  readonly name: string;
  readonly operation: OperationId;
  /** Creates what the call needs, so that the call itself is the next change. */
  prepare(side: Side, all: TwoOrganisations): Promise<MutationCall>;
};

type Made = Pick<MutationCall, "path" | "body"> & { readonly caller?: ApiCaller };
type Make = (side: Side, all: TwoOrganisations, count: number) => Made | Promise<Made>;

const touched = (count: number) => ({ labels: { touched: `time-${count}` } });
const inSubnet = ({ standing: { subnet } }: Side) => ({ subnet_id: subnet });
const report = (more: object) => ({ epoch: 1, seq: 1, phase: "verify", ...more });

/** Where the recipe of the isolation matrix succeeds without changing anything, or only once. */
const again: { readonly [id in OperationId]?: Make } = {
  renamePasskey: async ({ person }, { world }) => ({
    path: { passkey_id: await addPasskey(world, person) },
    body: { name: "touched" },
  }),
  updateOrganisation: async ({ tenant }, { world }, count) => {
    const path = { organisation_id: tenant.id };
    made(await world.operator.patch(`/organisations/${tenant.id}`, { name: `Before ${count}` }));
    return { path, body: { name: `Called ${count}` } };
  },
  updateMember: async ({ tenant }) => ({
    path: { member_id: (await tenant.addMember("viewer")).id },
    body: { role: "member" },
  }),
  updateRegion: async (_side, { world }, count) => {
    made(await world.operator.patch("/regions/r1", { name: `Before ${count}` }));
    return { path: { region: "r1" }, body: { name: `Called ${count}` } };
  },
  // A batch of a running scan: an agent that begins again gets another scan.
  reportInventory: async ({ tenant }) => {
    const { body, pass } = await runningScan(tenant.region.agent);
    return { path: {}, body: { ...body, pass, batch: 0, vms: [], absent: [] } };
  },
  updateSshKey: async ({ tenant }, _all, count) => ({
    path: { ssh_key_id: await tenant.addSshKey() },
    body: touched(count),
  }),
  updateCertificate: async ({ tenant }, _all, count) => ({
    path: { certificate_id: await tenant.addCertificate() },
    body: touched(count),
  }),
  updateLoadBalancer: async ({ tenant, standing: { subnet } }, _all, count) => ({
    path: { load_balancer_id: (await tenant.addLoadBalancer(subnet)).load_balancer },
    body: touched(count),
  }),
  // A change that was made before would be none.
  updateListener: async ({ tenant, standing: { subnet } }) => {
    const { load_balancer, listener } = await tenant.addLoadBalancer(subnet);
    return {
      path: { load_balancer_id: load_balancer, listener_id: listener },
      body: { idle_timeout_seconds: 61 },
    };
  },
  updateTarget: async ({ tenant, standing: { subnet } }) => {
    const { load_balancer, target } = await tenant.addLoadBalancer(subnet);
    return { path: { load_balancer_id: load_balancer, target_id: target }, body: { drain: true } };
  },
  reportLoadBalancers: async ({ tenant, standing: { subnet } }) => {
    const { load_balancer } = await tenant.addLoadBalancer(subnet);
    const { body } = await tenant.owner.get(`/load-balancers/${load_balancer}`);
    const { slot, server_id } = body.machines[0];
    const report = { load_balancer_id: load_balancer, slot, server_id };
    const silent = { asked_after_ms: 0, seen_after_ms: null, status: null };
    return { path: {}, body: { agent_version: "0.0.0", reports: [{ ...report, ...silent }] } };
  },
  updateNetwork: async ({ tenant }, _all, count) => ({
    path: { network_id: await tenant.addNetwork() },
    body: touched(count),
  }),
  updateSubnet: async ({ tenant }, _all, count) => {
    const network = await tenant.addNetwork();
    return {
      path: { network_id: network, subnet_id: await tenant.addSubnet(network) },
      body: touched(count),
    };
  },
  updateReservation: async ({ tenant, standing: { network, subnet } }, _all, count) => ({
    path: {
      network_id: network,
      subnet_id: subnet,
      reservation_id: await tenant.addReservation(network, subnet),
    },
    body: touched(count),
  }),
  updateAgentUpdates: async (_side, { world }) => {
    made(await world.operator.patch("/agent-updates", { wait_minutes: 60 }));
    return { path: {}, body: { wait_minutes: 30 } };
  },
  updateIpPool: async ({ standing }, { world }, count) => {
    const path = { ip_pool_id: standing.ip_pool };
    made(await world.operator.patch(`/ip-pools/${standing.ip_pool}`, { description: `Before ${count}` }));
    return { path, body: { description: `Called ${count}` } };
  },
  updatePublicIp: async ({ tenant }, _all, count) => ({
    path: { public_ip_id: await tenant.addPublicIp() },
    body: touched(count),
  }),
  updateFirewall: async ({ tenant }, _all, count) => ({
    path: { firewall_id: await tenant.addSpareFirewall() },
    body: touched(count),
  }),
  updateDomain: async ({ tenant }, _all, count) => ({
    path: { domain_id: await addDomain(tenant) },
    body: touched(count),
  }),
  // A job of the standing one waits since the first call.
  applyDomain: async ({ tenant }) => ({ path: { domain_id: await addAppliedDomain(tenant) } }),
  updateGateway: async ({ tenant }, _all, count) => ({
    path: { gateway_id: (await tenant.addGateway()).gateway },
    body: touched(count),
  }),
  // One that serves others already has a job open or not, by chance, and its generations grow by that.
  attachGatewaySubnet: async ({ tenant }) => {
    const { gateway, network } = await tenant.addGateway();
    return { path: { gateway_id: gateway }, body: { subnet_id: await tenant.addSubnet(network) } };
  },
  updateServer: async (side, _all, count) => ({
    path: { server_id: (await side.tenant.addServer(inSubnet(side))).id },
    body: touched(count),
  }),
  openServerConsole: async (side) => ({
    path: { server_id: await side.tenant.addRunningServer(inSubnet(side)) },
    body: {},
  }),
  claimJob: async (side) => {
    await emptyQueue(side);
    await side.tenant.addServer(inSubnet(side));
    return {
      path: {},
      body: {
        claim_id: newId("job"),
        agent_version: "0.0.0",
        capabilities: ["ServerCreate"],
        wait_seconds: 0,
      },
    };
  },
  reportStep: async (side) => ({ path: { job_id: await heldJob(side) }, body: report({ phase: "observe" }) }),
  claimConsole: async ({ tenant, standing }, { world }) => {
    const console = `/servers/${standing.server}/console`;
    const { session_id: session } = made(await tenant.owner.post(console, { take_over: true }));
    // As if the browser had presented its ticket.
    await world.replica.deps.db
      .updateTable("console_session")
      .set({ state: "waiting", ticket_hash: null, replica_id: newId("rep"), redeemed_at: new Date() })
      .where("organisation_id", "=", tenant.id)
      .where("id", "=", session)
      .execute();
    return { path: {}, body: { claim_id: newId("job"), agent_version: "0.0.0", wait_seconds: 0 } };
  },
  reportHealth: ({ tenant }) => health(tenant.region.agent),
};

/** Further ways in which an operation writes, each with rows of its own. */
const more: readonly (readonly [OperationId, string, Make])[] = [
  [
    "createServer",
    "the first of its organisation, which makes its network",
    async ({ tenant }, { world }) => {
      const { owner } = await world.addOrganisation(newId("org").slice(4));
      return { path: {}, body: tenant.serverBody(), caller: owner };
    },
  ],
  ["createServer", "with a password", (side) => ({ path: {}, body: side.tenant.serverBody(inSubnet(side)) })],
  [
    "deleteServer",
    "one that runs",
    async (side) => {
      await emptyQueue(side);
      return { path: { server_id: await side.tenant.addRunningServer(inSubnet(side)) } };
    },
  ],
  [
    "openServerConsole",
    "one that is taken over",
    async (side) => {
      const server = await side.tenant.addRunningServer(inSubnet(side));
      await side.tenant.addConsoleTicket(server);
      return { path: { server_id: server }, body: { take_over: true } };
    },
  ],
  [
    "leaveOrganisation",
    "by a session of another organisation",
    async ({ tenant }, { world }) => {
      const { caller, member } = await addPerson(world, tenant);
      const elsewhere = await world.addOrganisation(newId("org").slice(4));
      const wanted = { email: member.email, role: "viewer" };
      const { secret } = made(await elsewhere.owner.post("/invitations", wanted));
      made(await caller.post("/me/organisations", { secret }));
      const { token } = made(
        await caller.post("/auth/switch-organisation", { organisation_id: elsewhere.id }),
      );
      return { path: { organisation_id: tenant.id }, caller: new ApiCaller(world.app, token) };
    },
  ],
  [
    "reportStep",
    "a step begins",
    async (side) => ({
      path: { job_id: await heldJob(side) },
      body: report({ phase: "apply", step: { name: "clone", status: "running" } }),
    }),
  ],
  [
    "reportStep",
    "a create succeeded",
    async (side) => ({
      path: { job_id: await heldJob(side) },
      body: report({ outcome: { status: "succeeded", observed: { power_state: "on" } } }),
    }),
  ],
  [
    "reportStep",
    "a create failed",
    async (side) => ({
      path: { job_id: await heldJob(side) },
      body: report({
        outcome: { status: "failed", error: { code: "template_missing", message: "no", retryable: true } },
      }),
    }),
  ],
  [
    "reportStep",
    "a create is given back",
    async (side) => ({
      path: { job_id: await heldJob(side) },
      body: report({ outcome: { status: "released" } }),
    }),
  ],
];

/** They have a body, and change nothing. */
const questions: ReadonlySet<OperationId> = new Set([
  "checkCatalog",
  "explainNetwork",
  "readInvitation",
  "testFirewall",
  // The options for the browser are sealed into the answer.
  "beginPasskey",
  "beginPasskeyLogin",
  "beginIdentity",
  "beginOidcLogin",
]);

/** Every mutating operation of the contract, by its recipe, and the other ways in which some of them write. */
export function mutationCases(): MutationCase[] {
  const ids = (Object.keys(operations) as OperationId[]).filter(
    (id) => operations[id].method !== "get" && !questions.has(id),
  );
  return [
    ...ids.map((id) => mutationCase(id, id, again[id] ?? byRecipe(id))),
    ...more.map(([id, what, make]) => mutationCase(id, `${id}: ${what}`, make)),
  ];
}

function mutationCase(operation: OperationId, name: string, make: Make): MutationCase {
  let count = 0;
  return {
    name,
    operation,
    async prepare(side, all) {
      count += 1;
      // Answers show what a silent region has no use for, so it is never silent.
      await health(side.tenant.region.agent);
      const call = await make(side, all, count);
      // A case with a caller of its own has its person, too.
      const personal =
        call.caller === undefined ? await personalCall(operations[operation], side, all.world) : null;
      // A job that waits for the edge would apply the next change too, and the call would queue no job of its
      // own.
      await emptyEdgeQueue(side.tenant.region.agent);
      return { operation, caller: callerOf(operation, side, all), ...call, ...personal };
    },
  };
}

function byRecipe(id: OperationId): Make {
  return async (side, all) => {
    const { path, body } = recipes[id];
    const made = { path: (await path?.(side, all)) ?? {} };
    return body === undefined ? made : { ...made, body: await body(side, all) };
  };
}

function callerOf(id: OperationId, { tenant }: Side, { world }: TwoOrganisations): ApiCaller {
  const { permission } = operations[id];
  // Most operators' operations belong to no organisation, and cannot be compared.
  if (permission.startsWith("operator:")) return world.operator.with({ "Kule-Organisation": tenant.id });
  return permission.startsWith("agent:") ? tenant.region.agent : tenant.owner;
}

/** Ends everything that waits in the side's region, so that the next job is claimed first. */
async function emptyQueue({ tenant }: Side): Promise<void> {
  await new TestAgent(tenant.region.agent).work();
}

/** A create job that the region's agent holds at epoch 1, without a report so far. */
async function heldJob(side: Side): Promise<string> {
  await emptyQueue(side);
  return side.tenant.addRunningJob(inSubnet(side));
}

/** The region was as well before, so that only the time of its report changes. */
async function health(agent: ApiCaller): Promise<Made> {
  const body = { agent_version: "0.0.0", hypervisor: { kind: "proxmox", reachable: true } };
  made(await agent.post("/agent/health", body));
  return { path: {}, body };
}

/** As the agent that scanned last, whichever it was: another one may have to wait. */
async function runningScan(agent: ApiCaller): Promise<{ readonly body: object; readonly pass: number }> {
  const body = { agent_version: "0.0.0", agent_run: "testScanner-of-the-proofs" };
  const { pass } = made(await agent.post("/agent/inventory", body)) as { readonly pass: number | null };
  if (pass === null) throw new Error("another agent looks at the region");
  return { body, pass };
}
