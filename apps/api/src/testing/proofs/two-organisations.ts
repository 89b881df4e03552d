import { operations } from "@kule/contract/generated/operations";
import type { UsedNumber } from "@kule/rules/inventory/held-numbers";
import { newId } from "../../platform/ids.ts";
import { withChecksum } from "../../platform/tokens.ts";
import { auditSession } from "../../products/consoles/index.ts";
import { issueToken } from "../../products/tokens/index.ts";
import { ApiCaller } from "../api-caller.ts";
import { ApiWorld } from "../api-world.ts";
import { reportSealingKey } from "../made-upload.ts";
import { endOpenRollout, openRollout } from "../rollouts.ts";
import { TestScanner } from "../test-scanner.ts";
import { addIdentity, addPasskey, addPerson, addSession, type Person } from "./person.ts";
import { runJob } from "./region-agent.ts";
import { made, Tenant, type TenantRegion } from "./tenant.ts";
import { openDomains } from "./tenant-domains.ts";

/** Something of every kind that a tenant owns, none of it changed by the proofs. */
export type Standing = {
  readonly organisation: string;
  readonly member: string;
  readonly invitation: string;
  readonly token: string;
  readonly ssh_key: string;
  readonly network: string;
  readonly subnet: string;
  /** Of an address of that subnet, which no server has. */
  readonly reservation: string;
  /** A running server, with a finished job and usage. */
  readonly server: string;
  /** The finished create job of that server. */
  readonly job: string;
  readonly public_ip: string;
  /** Attached to a server of its own, with a rule. */
  readonly firewall: string;
  readonly firewall_rule: string;
  readonly firewall_attachment: string;
  /** Of a network of its own; it forwards a port. */
  readonly gateway: string;
  readonly port_forward: string;
  /** A pool that only this organisation has addresses of. */
  readonly ip_pool: string;
  readonly ip_pool_range: string;
  /** An address of it that is allocated and not reserved. */
  readonly ip_pool_address: string;
  /** A session that shows the server's screen, held by a process that never counts as gone. */
  readonly console_session: string;
  /** A session of the side's person, other than the one that calls. */
  readonly login_session: string;
  readonly passkey: string;
  readonly identity: string;
  /** A region that only this organisation sees. */
  readonly region: string;
  /** Proven and served, with a record set. */
  readonly domain: string;
  readonly certificate: string;
  readonly load_balancer: string;
  readonly listener: string;
  readonly target: string;
  /** Ended; of the installation. */
  readonly agent_rollout: string;
};

/** Objects that existed and are gone: they must read like ones that never existed. */
export type Removed = Pick<
  Standing,
  | "member"
  | "token"
  | "ssh_key"
  | "network"
  | "subnet"
  | "reservation"
  | "server"
  | "public_ip"
  | "firewall"
  | "firewall_rule"
  | "firewall_attachment"
  | "domain"
  | "certificate"
  | "gateway"
  | "port_forward"
  | "console_session"
  | "login_session"
  | "passkey"
  | "identity"
>;

export type Side = {
  readonly tenant: Tenant;
  readonly standing: Standing;
  readonly removed: Removed;
  /** Signed in, an admin. */
  readonly person: Person;
};

/** Two organisations with the same resources, and every kind of actor. */
export type TwoOrganisations = {
  readonly world: ApiWorld;
  readonly a: Side;
  readonly b: Side;
  readonly regions: { readonly r1: TenantRegion; readonly r2: TenantRegion };
  readonly agentTokens: { readonly r1: string; readonly r2: string; readonly removed: string };
  readonly callers: {
    readonly none: ApiCaller;
    readonly garbage: ApiCaller;
    readonly wrongChecksum: ApiCaller;
    /** An organisation's token with the prefix of an operator's; its checksum is right. */
    readonly wrongPrefix: ApiCaller;
    readonly expired: ApiCaller;
    readonly revoked: ApiCaller;
    readonly session: ApiCaller;
    /** A session as a browser would send it: the API accepts no cookies. */
    readonly cookie: ApiCaller;
    readonly operator: ApiCaller;
  };
  /** A cursor of each list's second page, by operation and organisation. */
  readonly cursors: ReadonlyMap<string, string>;
  close(): Promise<void>;
};

/** Builds both through the public API; `destroyServer` lets a marked server's buffer end and destroys it. */
export async function openTwoOrganisations(
  destroyServer: (world: ApiWorld, tenant: Tenant, serverId: string) => Promise<void>,
  world?: ApiWorld,
): Promise<TwoOrganisations> {
  return fillWorld(world ?? (await ApiWorld.open()), destroyServer);
}

async function fillWorld(
  world: ApiWorld,
  destroyServer: (world: ApiWorld, tenant: Tenant, serverId: string) => Promise<void>,
): Promise<TwoOrganisations> {
  // Recipes are called thousands of times; a server of each keeps its VM number, and a subnet its VLAN.
  const ranges = { vmid_range: { first: 1_000, last: 20_999 }, vlan_range: { first: 100, last: 3999 } };
  const r1 = await world.addRegion("r1", ranges);
  const r2 = await world.addRegion("r2", ranges);
  const a = await openSide(world, "orga", r1, destroyServer);
  const b = await openSide(world, "orgb", r2, destroyServer);

  await addStrangers(r1);
  await holdStrangers(world);

  const firstAgentToken = async (region: string) =>
    made(await world.operator.get(`/regions/${region}/agent-tokens`)).items[0].id as string;
  const removedAgentToken = made(await world.operator.post("/regions/r1/agent-tokens", { name: "gone" }))
    .token.id;
  made(await world.operator.delete(`/regions/r1/agent-tokens/${removedAgentToken}`));

  const good = await a.tenant.addToken("owner");
  const revoked = await a.tenant.addToken("owner");
  made(await a.tenant.owner.delete(`/tokens/${revoked.id}`));
  const expired = await issueToken(world.replica.deps.db, {
    kind: "organisation",
    name: "expired",
    organisationId: a.tenant.id,
    role: "owner",
    lifetimeSeconds: -60,
  });
  const call = (token: string | null) => new ApiCaller(world.app, token);
  const lastCharacter = good.secret.at(-1) === "0" ? "1" : "0";
  const session = a.person.caller;
  return {
    world,
    a,
    b,
    regions: { r1, r2 },
    agentTokens: {
      r1: await firstAgentToken("r1"),
      r2: await firstAgentToken("r2"),
      removed: removedAgentToken,
    },
    callers: {
      none: call(null),
      garbage: call("let-me-in"),
      wrongChecksum: call(good.secret.slice(0, -1) + lastCharacter),
      wrongPrefix: call(withChecksum(good.secret.slice(0, -6).replace("kule_pat_", "kule_ops_"))),
      expired: call(expired.secret),
      revoked: call(revoked.secret),
      session,
      cookie: new ApiCaller(world.app, null, { Cookie: `kule_session=${session.token}` }),
      operator: world.operator,
    },
    cursors: await firstCursors(world, [a, b]),
    close: () => world.close(),
  };
}

const STRANGERS = [20_998, 20_999];

/** Guests that are not Kule's servers, seen twice: the region drifts. */
async function addStrangers({ agent }: TenantRegion): Promise<void> {
  const testScanner = new TestScanner(agent, "testScanner-of-the-proofs");
  const strangers = STRANGERS.map((vmid) => ({
    vmid,
    node: "pve1",
    state: "seen" as const,
    seen_after_ms: 0,
    power: "on" as const,
    name: "stranger",
  }));
  for (let looks = 0; looks < 2; looks++) {
    const { pass } = await testScanner.begin();
    if (pass === null) throw new Error("the region is being looked at");
    await testScanner.batch(pass, 0, { vms: strangers, absent: [], end: { complete: false } });
  }
}

/** As after a restore of the database: their VM numbers are held back. */
async function holdStrangers(world: ApiWorld): Promise<void> {
  const rows = STRANGERS.map((vmid) => ({
    id: newId("hvm"),
    region: "r1",
    vmid,
    pass: 1,
    held: JSON.stringify([
      { kind: "vmid", value: String(vmid), subnetId: null, holder: null } satisfies UsedNumber,
    ]),
  }));
  await world.replica.deps.db.insertInto("held_vm").values(rows).execute();
}

/** Reads the first item of every list, as both organisations. */
async function firstCursors(world: ApiWorld, sides: readonly Side[]): Promise<Map<string, string>> {
  const cursors = new Map<string, string>();
  for (const info of Object.values(operations)) {
    if (!info.queryParameters.includes("cursor")) continue;
    for (const { tenant, standing } of sides) {
      const caller = info.permission.startsWith("operator:") ? world.operator : tenant.owner;
      const path = info.path
        .replace("{network_id}", standing.network)
        .replace("{subnet_id}", standing.subnet)
        .replace("{ip_pool_id}", standing.ip_pool)
        .replace("{server_id}", standing.server)
        .replace("{gateway_id}", standing.gateway)
        .replace("{domain_id}", standing.domain)
        .replace("{load_balancer_id}", standing.load_balancer)
        .replace("{region}", "r1");
      const { next_cursor: cursor } = made(await caller.get(`${path}?limit=1`));
      if (cursor === null) throw new Error(`${info.id} has no second page for ${tenant.slug}`);
      cursors.set(`${info.id} ${tenant.id}`, cursor);
    }
  }
  return cursors;
}

/** As if a browser and the region's agent had met at a process that answers for ever. */
async function openScreen({ replica }: ApiWorld, tenant: Tenant, serverId: string): Promise<string> {
  const id = await tenant.addConsoleTicket(serverId, "vnc");
  const { db } = replica.deps;
  await db
    .insertInto("replica")
    .values({ id: "rep_of_proofs", address: "", secret: "", seen_at: new Date("2100-01-01") })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const session = await db
    .updateTable("console_session")
    .set({
      state: "open",
      ticket_hash: null,
      replica_id: "rep_of_proofs",
      claim_id: newId("con"),
      redeemed_at: new Date(),
      claimed_at: new Date(),
      opened_at: new Date(),
    })
    .where("organisation_id", "=", tenant.id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await auditSession(db, session, "opened", {});
  return id;
}

async function openSide(
  world: ApiWorld,
  slug: string,
  region: TenantRegion,
  destroyServer: (world: ApiWorld, tenant: Tenant, serverId: string) => Promise<void>,
): Promise<Side> {
  const tenant = await Tenant.open(world, slug, region);
  await reportSealingKey(region.agent);
  const only = await world.addRegion(`only-${slug}`, { restricted_to: [tenant.id] });
  const network = await tenant.addNetwork();
  // The recipes of all operations put servers into it, as often as they are called for.
  const subnet = await tenant.addSubnet(network, { cidr: "10.20.0.0/20" });
  const sshKey = await tenant.addSshKey();
  const { id: server, jobId: job } = await tenant.addServer({ ssh_key_ids: [sshKey], subnet_id: subnet });
  await runJob(region.agent, job);

  const pool = await tenant.openPublicNetwork(world, slug === "orga" ? "100.96" : "100.97");
  const publicIp = await tenant.addPublicIp();
  const removed = {
    member: (await tenant.addMember()).id,
    token: (await tenant.addToken()).id,
    ssh_key: await tenant.addSshKey(),
    certificate: await tenant.addCertificate(),
    network: await tenant.addNetwork(),
    subnet: await tenant.addSubnet(network),
    reservation: await tenant.addReservation(network, subnet),
    server: await tenant.addPendingServer({ subnet_id: subnet }),
    public_ip: await tenant.addPublicIp(),
    console_session: await tenant.addConsoleTicket(server),
    ...(await tenant.addUsedFirewall({ subnet_id: subnet })),
  };
  made(
    await tenant.owner.delete(`/firewalls/${removed.firewall}/attachments/${removed.firewall_attachment}`),
  );
  made(await tenant.owner.delete(`/firewalls/${removed.firewall}/rules/${removed.firewall_rule}`));
  made(await tenant.owner.delete(`/firewalls/${removed.firewall}`));
  made(await tenant.owner.delete(`/servers/${server}/console-sessions/${removed.console_session}`));
  made(await tenant.owner.delete(`/public-ips/${removed.public_ip}`));
  made(await tenant.owner.delete(`/members/${removed.member}`));
  made(await tenant.owner.delete(`/tokens/${removed.token}`));
  made(await tenant.owner.delete(`/ssh-keys/${removed.ssh_key}`));
  made(await tenant.owner.delete(`/certificates/${removed.certificate}`));
  made(await tenant.owner.delete(`/networks/${removed.network}`));
  made(await tenant.owner.delete(`/networks/${network}/subnets/${removed.subnet}`));
  made(
    await tenant.owner.delete(`/networks/${network}/subnets/${subnet}/reservations/${removed.reservation}`),
  );
  await destroyServer(world, tenant, removed.server);

  const person = await addPerson(world, tenant);
  const removedSession = await addSession(world, tenant, person);
  const loginSession = await addSession(world, tenant, person);
  const identity = await addIdentity(world, person);
  const removedIdentity = await addIdentity(world, person);
  made(await person.caller.delete(`/me/identities/${removedIdentity}`));
  const passkey = await addPasskey(world, person);
  const removedPasskey = await addPasskey(world, person);
  made(await person.caller.delete(`/me/passkeys/${removedPasskey}`));
  made(await person.caller.delete(`/me/sessions/${removedSession}`));

  await tenant.setEdge(true);
  const gateway = await tenant.addGatewayTo(network, subnet);
  const portForward = await tenant.addPortForward(gateway, server, 443);
  const removedGateway = await removeGateway(tenant);

  // Every list has a second page.
  await tenant.addGateway();
  await tenant.addPortForward(gateway, server, 444);
  await tenant.addNetwork();
  await tenant.addSubnet(network);
  await tenant.addReservation(network, subnet);
  await tenant.addSshKey();
  await tenant.addCertificate();
  await tenant.addMember();
  await tenant.addInvitation();
  await tenant.addRunningServer({ subnet_id: subnet });
  await tenant.addFailedJob({ subnet_id: subnet });
  await tenant.addPublicIp();
  await openScreen(world, tenant, server);
  const screen = await openScreen(world, tenant, server);
  await tenant.addFirewall();
  const domains = await openDomains(world, tenant, server);
  const balanced = await tenant.addLoadBalancer(subnet);
  await tenant.addLoadBalancer(subnet);
  for (const [part, body] of [
    ["listeners", { protocol: "tcp", port: 81 }],
    ["targets", { label_selector: "role=other" }],
  ] as const)
    made(await tenant.owner.post(`/load-balancers/${balanced.load_balancer}/${part}`, body));
  const rollout = await openRollout(world);
  await endOpenRollout(world);
  const ranges = made(await world.operator.get(`/ip-pools/${pool}/ranges`)).items;
  const allocations = made(await world.operator.get(`/ip-pools/${pool}/allocations?limit=200`)).items;

  const standing: Standing = {
    organisation: tenant.id,
    member: (await tenant.addMember()).id,
    invitation: (await tenant.addInvitation()).id,
    token: (await tenant.addToken()).id,
    ssh_key: sshKey,
    network,
    subnet,
    reservation: await tenant.addReservation(network, subnet),
    server,
    job,
    public_ip: publicIp,
    ...(await tenant.addUsedFirewall({ subnet_id: subnet })),
    gateway,
    port_forward: portForward,
    ip_pool: pool,
    ip_pool_range: ranges[0].id,
    ip_pool_address: allocations.at(-1).address,
    console_session: screen,
    login_session: loginSession,
    passkey,
    identity,
    region: only.slug,
    domain: domains.standing,
    certificate: await tenant.addCertificate(),
    ...balanced,
    agent_rollout: rollout,
  };
  return {
    tenant,
    standing,
    removed: {
      ...removed,
      ...removedGateway,
      domain: domains.removed,
      login_session: removedSession,
      passkey: removedPasskey,
      identity: removedIdentity,
    },
    person,
  };
}

/** A gateway and a port that it has forwarded, both gone from the region's edge. */
async function removeGateway(tenant: Tenant): Promise<Pick<Removed, "gateway" | "port_forward">> {
  const { gateway, subnet } = await tenant.addGateway();
  const server = await tenant.addRunningServer({ subnet_id: subnet });
  const forward = await tenant.addPortForward(gateway, server, 443);
  for (const path of [`/gateways/${gateway}/port-forwards/${forward}`, `/gateways/${gateway}`]) {
    const { job } = made(await tenant.owner.delete(path));
    await tenant.applyToEdge(job.id);
  }
  return { gateway, port_forward: forward };
}
