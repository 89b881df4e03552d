import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { type ReferenceKind, referencePlaces } from "@kule/testing/contract/reference-places";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, ApiCaller } from "../../testing/api-caller.ts";
import { GatewayWorld, must } from "../../testing/gateway-world.ts";
import { OwnerOfServers } from "../../testing/managed-servers.ts";
import { deleteManagedServer } from "./index.ts";

/*
 * A managed server is its owner's: every operation of the contract that can change a server, by its own id or by that of
 * something on it, has a decision here. One that is missing fails the first test.
 */

/** What a request can name to reach a server. A new kind of resource does not compile until that is decided. */
const reachesServers: { readonly [kind in ReferenceKind]: boolean } = {
  server: true,
  domain: false,
  certificate: false,
  job: true,
  public_ip: true,
  firewall_attachment: true,
  port_forward: true,
  console_session: true,
  organisation: false,
  member: false,
  invitation: false,
  token: false,
  agent_token: false,
  region: false,
  ssh_key: false,
  network: false,
  subnet: false,
  reservation: false,
  ip_pool: false,
  ip_pool_range: false,
  ip_pool_address: false,
  agent_rollout: false,
  login_session: false,
  passkey: false,
  identity: false,
  gateway: false,
  // What changes these changes the owner of servers, or names a server that is nobody's.
  load_balancer: false,
  listener: false,
  target: false,
  firewall: false,
  firewall_rule: false,
  // Filters of lists.
  resource: false,
  cursor: false,
};

type World = {
  readonly server: string;
  readonly name: string;
  readonly stopped: string;
  readonly leaving: string;
  readonly queued: string;
  readonly failed: string;
  readonly ip: string;
  readonly freeIp: string;
  readonly firewall: string;
  readonly attachment: string;
  readonly spareFirewall: string;
  readonly gateway: string;
  readonly ownServer: string;
};

type Call = (caller: ApiCaller, world: World) => Promise<Answer>;

type Decision =
  /** Each call is refused with the owner's name, to the customer's owner and to an operator. */
  | { readonly refused: readonly Call[] }
  /** Refused to the customer; operators may repair by it. */
  | { readonly operatorsOnly: readonly Call[] }
  /** What it changes is not the server. */
  | { readonly allowed: string };

const read = { allowed: "reads" } as const;
const operators = {
  allowed: "operators: a lock also stops the owner, and a reconcile writes the records",
} as const;
const agents = { allowed: "of the region's agent" } as const;
const at =
  (
    method: "post" | "patch" | "delete",
    path: (world: World) => string,
    body?: (world: World) => unknown,
  ): Call =>
  (caller, world) =>
    method === "delete" ? caller.delete(path(world)) : caller[method](path(world), body?.(world) ?? {});

const power = (action: string, which: "server" | "stopped" = "server") =>
  at(
    "post",
    (world) => `/servers/${world[which]}/power`,
    () => ({ action }),
  );

const decisions: { readonly [id in OperationId]?: Decision } = {
  getServer: read,
  listServerConsoleSessions: read,
  getJob: read,
  streamJobEvents: read,
  getPublicIp: read,
  explainNetwork: read,
  testFirewall: read,
  createLoadBalancer: { allowed: "a managed server is no target" },
  createTarget: { allowed: "a managed server is no target" },
  updateServer: {
    refused: [
      at(
        "patch",
        ({ server }) => `/servers/${server}`,
        () => ({ labels: { a: "b" } }),
      ),
      at(
        "patch",
        ({ server }) => `/servers/${server}`,
        () => ({ name: "mine" }),
      ),
      at(
        "patch",
        ({ server }) => `/servers/${server}`,
        () => ({ protection: { delete: true } }),
      ),
    ],
  },
  deleteServer: {
    refused: [
      at("delete", ({ server }) => `/servers/${server}`),
      at("delete", ({ server }) => `/servers/${server}?purge=true`),
      at("delete", ({ leaving }) => `/servers/${leaving}?purge=true`),
    ],
  },
  cancelServerDeletion: { refused: [at("post", ({ leaving }) => `/servers/${leaving}/cancel-deletion`)] },
  powerServer: {
    refused: [power("shutdown"), power("stop"), power("reboot"), power("reset"), power("start", "stopped")],
  },
  resizeServer: {
    refused: [
      at(
        "post",
        ({ server }) => `/servers/${server}/resize`,
        () => ({ package: "m", allow_restart: true }),
      ),
    ],
  },
  rebuildServer: {
    refused: [
      at(
        "post",
        ({ server }) => `/servers/${server}/rebuild`,
        ({ name }) => ({ image: "debian-13", confirm_name: name }),
      ),
    ],
  },
  resetServerPassword: {
    refused: [
      at("post", ({ server }) => `/servers/${server}/password-reset`),
      at(
        "post",
        ({ server }) => `/servers/${server}/password-reset`,
        () => ({ when: "next_boot" }),
      ),
    ],
  },
  openServerConsole: { refused: [at("post", ({ server }) => `/servers/${server}/console`)] },
  endServerConsoleSession: { allowed: "ends a connection, and nothing of the server" },
  attachPublicIp: {
    refused: [
      at(
        "post",
        ({ freeIp }) => `/public-ips/${freeIp}/attach`,
        ({ server }) => ({ server_id: server }),
      ),
      at(
        "post",
        ({ ip }) => `/public-ips/${ip}/attach`,
        ({ ownServer }) => ({ server_id: ownServer, force: true }),
      ),
    ],
  },
  detachPublicIp: { refused: [at("post", ({ ip }) => `/public-ips/${ip}/detach`)] },
  updatePublicIp: { allowed: "its name, labels and protection are the customer's" },
  deletePublicIp: { allowed: "an address on a server is not released: 409 `in_use`" },
  createServer: { allowed: "an address on another server is not taken: 409 `already_attached`" },
  createGateway: { allowed: "an address on a server is not taken: 409 `already_attached`" },
  attachFirewall: {
    refused: [
      at(
        "post",
        ({ spareFirewall }) => `/firewalls/${spareFirewall}/attachments`,
        ({ server }) => ({ server_id: server }),
      ),
    ],
  },
  detachFirewall: {
    refused: [at("delete", ({ firewall, attachment }) => `/firewalls/${firewall}/attachments/${attachment}`)],
  },
  createPortForward: {
    refused: [
      at(
        "post",
        ({ gateway }) => `/gateways/${gateway}/port-forwards`,
        ({ server }) => ({ protocol: "tcp", listen_port: 443, server_id: server }),
      ),
    ],
  },
  deletePortForward: { allowed: "no port is forwarded to a managed server" },
  cancelJob: { operatorsOnly: [at("post", ({ queued }) => `/jobs/${queued}/cancel`)] },
  retryJob: { operatorsOnly: [at("post", ({ failed }) => `/jobs/${failed}/retry`)] },
  lockServer: operators,
  unlockServer: operators,
  reconcileServer: operators,
  reportStep: agents,
};

let gateways: GatewayWorld;
let owner: OwnerOfServers;
/** For the organisation. */
let operator: ApiCaller;
let world: World;

beforeAll(async () => {
  gateways = await GatewayWorld.open();
  const { servers } = gateways;
  const { owned, agent, region } = servers;
  owner = new OwnerOfServers(servers);
  operator = servers.world.operator.with({ "Kule-Organisation": servers.organisation.id });
  const network = await gateways.network();
  const gateway = await gateways.gateway(network, network.app);
  const reserve = async () => (await must(owned.post("/public-ips", { region }))).id;
  const [ip, freeIp] = [await reserve(), await reserve()];
  const [firewall, spareFirewall] = [await servers.newFirewall(), await servers.newFirewall()];
  const inNetwork = { subnet_id: network.app };
  const server = await owner.createRunning({ ...inNetwork, public_ip: ip, firewall_ids: [firewall.id] });
  const stopped = await owner.createRunning({ ...inNetwork, start: false });
  const leaving = await owner.createRunning(inNetwork);
  await owner.change((by, tx) => deleteManagedServer(by, tx, leaving, { purge: false }));
  await agent.work();
  const ownServer = (await servers.createRunning(inNetwork)).id;
  const broken = await owner.create(inNetwork);
  await agent.fail(await agent.take("ServerCreate"));
  const waiting = await owner.create(inNetwork);
  const jobOf = async (id: string) => (await owned.get(`/jobs?resource=${id}`)).body.items[0].id;
  world = {
    server,
    name: (await servers.server(server)).name,
    stopped,
    leaving,
    queued: await jobOf(waiting),
    failed: await jobOf(broken),
    ip,
    freeIp,
    firewall: firewall.id,
    attachment: (await owned.get(`/firewalls/${firewall.id}`)).body.attachments[0].id,
    spareFirewall: spareFirewall.id,
    gateway: gateway.id,
    ownServer,
  };
});
afterAll(() => gateways?.close());

/** Every operation that can name a server, or something on one. */
const reaching = new Set(
  referencePlaces()
    .places.filter(({ kind, where }) => reachesServers[kind] && where !== "query")
    .map(({ operation }) => operation),
);

test("every operation that can reach a server has a decision about managed ones", () => {
  expect(Object.keys(decisions).sort()).toEqual([...reaching].sort());
  // What only reads is a GET, or a question that is asked by a body.
  const questions = ["explainNetwork", "testFirewall"];
  for (const [id, decision] of Object.entries(decisions))
    if (operations[id as OperationId].method === "get" && !questions.includes(id))
      expect(decision).toBe(read);
});

const refusedCalls = Object.entries(decisions).flatMap(([id, decision]) =>
  "refused" in decision
    ? decision.refused.map((call, turn) => ({ id, turn, call, alsoOperators: true }))
    : "operatorsOnly" in decision
      ? decision.operatorsOnly.map((call, turn) => ({ id, turn, call, alsoOperators: false }))
      : [],
);

const theOwner = () => ({
  name: "server_not_managed",
  code: "managed",
  message: "The server is managed by the cluster front",
  resource: owner.owner.id,
  fix: `Change the cluster instead: PATCH or DELETE /k8s/clusters/${owner.owner.id}`,
});

describe("a managed server is changed by its owner only", () => {
  test.each(refusedCalls)("$id ($turn) answers 409 and names the owner", async ({ call, alsoOperators }) => {
    const { owned } = gateways.servers;
    const { status, body } = await call(owned, world);
    expect([status, body.code, body.precondition]).toEqual([409, "managed", theOwner()]);
    if (!alsoOperators) return;
    // Some are not for operators at all.
    const theirs = await call(operator, world);
    if (theirs.body.code !== "forbidden") expect(theirs.body.precondition).toEqual(theOwner());
  });

  test("nothing of it has changed, and reads show what may not be done", async () => {
    const { servers } = gateways;
    const shown = await servers.server(world.server);
    expect(shown).toMatchObject({
      name: world.name,
      status: "running",
      labels: {},
      managed_by: owner.owner,
      package: { slug: "s" },
      firewall_ids: [world.firewall],
      public_ips: [{ id: world.ip, status: "attached" }],
      job_id: null,
    });
    for (const action of Object.values(shown.actions))
      expect(action).toMatchObject({ allowed: false, code: "managed" });
    const { actions } = (await servers.owned.get(`/public-ips/${world.ip}`)).body;
    expect([actions.attach.code, actions.detach.code, actions.delete.code]).toEqual([
      "managed",
      "managed",
      "in_use",
    ]);
    for (const id of [world.queued, world.failed]) {
      const { cancellable, retryable } = (await servers.owned.get(`/jobs/${id}`)).body;
      expect([cancellable, retryable]).toEqual([false, false]);
    }
  });

  test("operators repair it: they lock and unlock it, reconcile it, and cancel and retry its jobs", async () => {
    const { servers } = gateways;
    await must(operator.post(`/servers/${world.server}/lock`, { reason: "abuse" }));
    await must(operator.post(`/servers/${world.server}/unlock`));
    await must(operator.post(`/servers/${world.server}/reconcile`));
    await must(operator.post(`/jobs/${world.queued}/cancel`));
    await must(operator.post(`/jobs/${world.failed}/retry`));
    await servers.agent.work();
    expect(await servers.violations()).toEqual([]);
  });
});
