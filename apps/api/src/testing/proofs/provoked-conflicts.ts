import type { OperationInfo } from "@kule/contract/schemas";
import { allOperations } from "@kule/testing/contract/contract-schema";
import pg from "pg";
import { newId } from "../../platform/ids.ts";
import { hashPassword } from "../../platform/passwords.ts";
import { parseToken } from "../../platform/tokens.ts";
import { insertUser } from "../../products/account/index.ts";
import { insertMember } from "../../products/members/index.ts";
import { addMember } from "../add-member.ts";
import { ApiCaller } from "../api-caller.ts";
import { openReplica, type Replica } from "../api-world.ts";
import { madeUpload } from "../made-upload.ts";
import { openRollout, rolledOut } from "../rollouts.ts";
import { SoftPasskey } from "../soft-passkey.ts";
import { answerOf, newSoftPerson, ownAnswer, sharedProvider } from "../soft-sign-ins.ts";
import { addIdentity, addPerson, enrol, forgetProof, newPasskey } from "./person.ts";
import { infoOf, type Provocations } from "./provocations.ts";
import { recipes } from "./recipes.ts";
import { claimThis, runJob } from "./region-agent.ts";
import { made } from "./tenant.ts";
import { addAppliedDomain, addDeletedDomain, addManagedCertificate } from "./tenant-domains.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** Each conflict of one operation's own; those of a suspended organisation come last, since it stays so. */
export async function provokeConflicts(all: TwoOrganisations, provoke: Provocations): Promise<void> {
  const { world, a, b } = all;
  const { tenant, standing } = a;
  const { owner } = tenant;
  await owner.post("/auth/logout");
  await provokePersonalConflicts(all);
  await world.operator.post("/organisations", { slug: tenant.slug, name: "again" });
  await world.operator.post("/regions", {
    slug: "r1",
    name: "again",
    vmid_range: { first: 100, last: 109 },
    vlan_range: { first: 100, last: 109 },
  });
  await world.operator.patch("/regions/r1", { vmid_range: { first: 90_000, last: 90_001 } });
  await world.operator.patch("/regions/r1/restore", { ended: true });
  const gone = made(await world.operator.post("/regions/r1/agent-tokens", { name: "gone" })).token.id;
  await world.operator.delete(`/regions/r1/agent-tokens/${gone}`);
  await world.operator.post(`/regions/r1/agent-tokens/${gone}/rotate`, {});
  const revoked = await tenant.addToken();
  await owner.delete(`/tokens/${revoked.id}`);
  await owner.post(`/tokens/${revoked.id}/rotate`, {});
  const member = await tenant.addMember();
  await owner.post("/invitations", { email: member.email, role: "viewer" });
  await provokeJoining(all);
  await provokeLastOwner(all);
  const key = tenant.sshKeyBody();
  const kept = made(await owner.post("/ssh-keys", key)).id;
  await owner.post("/ssh-keys", key);
  const other = tenant.sshKeyBody();
  made(await owner.post("/ssh-keys", other));
  await owner.patch(`/ssh-keys/${kept}`, { name: other.name });
  const certificate = await tenant.certificateBody();
  made(await owner.post("/certificates", certificate));
  await owner.post("/certificates", certificate);
  await owner.patch(`/certificates/${standing.certificate}`, { name: certificate.name });
  await owner.post(`/certificates/${standing.certificate}/renew`);
  const managed = await addManagedCertificate(tenant);
  await owner.post(`/certificates/${managed}/renew`);
  await owner.put(`/certificates/${managed}/material`, await madeUpload(["managed.example"]));
  const network = tenant.networkBody();
  const networkId = made(await owner.post("/networks", network)).network.id;
  await owner.post("/networks", network);
  const second = made(await owner.post("/networks", tenant.networkBody())).network;
  await owner.patch(`/networks/${second.id}`, { name: network.name });
  const subnet = tenant.subnetBody();
  made(await owner.post(`/networks/${networkId}/subnets`, subnet));
  await owner.post(`/networks/${networkId}/subnets`, subnet);
  const third = made(await owner.post(`/networks/${networkId}/subnets`, tenant.subnetBody())).subnet;
  await owner.patch(`/networks/${networkId}/subnets/${third.id}`, { name: subnet.name });
  await provokeReservationConflicts(all);
  await owner.delete(`/networks/${standing.network}`);
  await owner.delete(`/networks/${standing.network}/subnets/${standing.subnet}`);
  await provokeWithoutEdge(all);
  await provokePoolConflicts(all);
  await provokeRolloutConflicts(all);
  await provokeFirewallConflicts(all);
  await provokeGatewayConflicts(all);
  await provokeDomainConflicts(all);
  const body = tenant.serverBody({ subnet_id: standing.subnet });
  const server = made(await owner.post("/servers", body)).server.id;
  await owner.post("/servers", body);
  await owner.post(`/servers/${server}/rebuild`, { image: "debian-13", confirm_name: body.name });
  await owner.post(`/servers/${server}/cancel-deletion`);
  await owner.delete(`/servers/${server}`);
  await owner.delete(`/servers/${server}`);
  await owner.patch(`/servers/${server}`, { labels: { late: "yes" } });
  await owner.post(`/jobs/${standing.job}/cancel`);
  await owner.post(`/jobs/${standing.job}/retry`);
  const imported = await recipes.importServer.body?.(a, all);
  const operator = world.operator.with({ "Kule-Organisation": tenant.id });
  for (let times = 0; times < 2; times++) await operator.post("/servers/import", imported);
  const { jobId } = await tenant.addServer({ subnet_id: standing.subnet });
  const job = await claimThis(tenant.region.agent, jobId);
  await tenant.region.agent.post(`/agent/jobs/${job.id}/steps`, {
    epoch: job.epoch + 1,
    seq: 1,
    phase: "observe",
  });

  const writes = allOperations().filter(
    (info) => info.audit !== null && info.headerParameters.includes("Kule-Organisation"),
  );
  // The resources that the bodies name are created first.
  const bodies = new Map<string, unknown>();
  for (const { id } of writes) bodies.set(id, await recipes[id].body?.(b, all));
  made(await world.operator.patch(`/organisations/${b.tenant.id}`, { status: "suspended" }));
  for (const info of writes) await provoke.as(b, b.tenant.owner, info, { body: bodies.get(info.id) });
  made(await world.operator.patch(`/organisations/${b.tenant.id}`, { status: "active" }));
}

async function provokeReservationConflicts({ a: { tenant, standing } }: TwoOrganisations): Promise<void> {
  const path = `/networks/${standing.network}/subnets/${standing.subnet}/reservations`;
  const body = tenant.reservationBody();
  const { id } = made(await tenant.owner.post(path, body));
  await tenant.owner.post(path, body);
  const { name } = made(await tenant.owner.post(path, tenant.reservationBody()));
  await tenant.owner.patch(`${path}/${id}`, { name });
}

async function provokeFirewallConflicts({ a }: TwoOrganisations): Promise<void> {
  const { tenant, standing } = a;
  const { owner } = tenant;
  const body = tenant.firewallBody();
  const first = made(await owner.post("/firewalls", body)).firewall;
  await owner.post("/firewalls", body);
  const second = made(await owner.post("/firewalls", tenant.firewallBody())).firewall;
  await owner.patch(`/firewalls/${second.id}`, { name: body.name });
  const full = { rules: Array.from({ length: 100 }, () => body.rules[0]) };
  made(await owner.put(`/firewalls/${second.id}/rules`, full));
  await owner.post(`/firewalls/${second.id}/rules`, body.rules[0]);
  await owner.delete(`/firewalls/${standing.firewall}`);
  const subnet_id = await tenant.addSubnet(standing.network);
  const { attachments } = made(
    await owner.post(`/firewalls/${first.id}/attachments`, { subnet_id }),
  ).firewall;
  await owner.post(`/firewalls/${first.id}/attachments`, { subnet_id });
  await provokeFirewallJobs(a, first.rules[0].id, `/firewalls/${first.id}`, attachments[0].id);
}

/** Without an edge, what is deleted is gone at once. */
async function provokeWithoutEdge({ a: { tenant } }: TwoOrganisations): Promise<void> {
  await tenant.setEdge(false);
  const network = await tenant.addNetwork();
  const subnet = await tenant.addSubnet(network);
  made(await tenant.owner.delete(`/networks/${network}/subnets/${subnet}`));
  made(await tenant.owner.delete(`/networks/${network}`));
  await tenant.setEdge(true);
}

async function provokeGatewayConflicts({ a: { tenant, standing } }: TwoOrganisations): Promise<void> {
  const { owner } = tenant;
  const path = `/gateways/${standing.gateway}`;
  await owner.post("/gateways", tenant.gatewayBody(standing.network));
  const { gateway: second } = made(
    await owner.post("/gateways", tenant.gatewayBody(await tenant.addNetwork())),
  );
  const { name } = made(await owner.get(path));
  await owner.patch(`/gateways/${second.id}`, { name });
  await owner.delete(path);
  await owner.post(`${path}/subnets`, { subnet_id: standing.subnet });
  await owner.delete(`${path}/subnets/${standing.subnet}`);
  const taken = { protocol: "tcp", listen_port: 443, server_id: standing.server };
  await owner.post(`${path}/port-forwards`, taken);
  const { port_forward: forward } = made(
    await owner.post(`${path}/port-forwards`, { ...taken, listen_port: 445 }),
  );
  for (let times = 0; times < 2; times += 1) await owner.delete(`${path}/port-forwards/${forward.id}`);
}

/** Domains that are proven and not, in the removal buffer, and full; and changes that change nothing. */
async function provokeDomainConflicts({ world, a: { tenant, standing } }: TwoOrganisations): Promise<void> {
  const { owner } = tenant;
  const path = `/domains/${standing.domain}`;
  const { name } = made(await owner.get(path));
  await owner.post("/domains", { name });
  await owner.post(`${path}/cancel-deletion`);
  const record = { values: ["192.0.2.1"] };
  for (const at of [`/domains/${await addAppliedDomain(tenant)}`, path]) {
    const set = `${at}/records/again/A`;
    for (let times = 0; times < 2; times += 1) await owner.put(set, record);
    for (let times = 0; times < 2; times += 1) await owner.post(`${set}/values`, { add: record.values });
    for (let times = 0; times < 2; times += 1)
      await owner.post(`${at}/changes`, { changes: [{ op: "upsert", name: "again", type: "A", ...record }] });
    for (let times = 0; times < 2; times += 1)
      await owner.post(`${at}/zone-file`, { zone_file: "again IN A 192.0.2.1\n" });
    for (let times = 0; times < 2; times += 1) await owner.put(`${at}/dnssec`, { enabled: true });
  }
  // Nobody answers whether the parent has DS records.
  await owner.put(`${path}/dnssec`, { enabled: false });
  const pending = made(await owner.post("/domains", { name: `pending-${Date.now()}.example` })).domain.id;
  made(await owner.put(`/domains/${pending}/records/www/A`, record));
  made(await owner.post(`/domains/${pending}/records/www/A/values`, { add: ["192.0.2.2"] }));
  await owner.post(`/domains/${pending}/apply`);
  await owner.put(`/domains/${pending}/dnssec`, { enabled: true });
  // 503: nobody can be asked.
  await owner.post(`/domains/${pending}/verify`);
  made(await owner.delete(`/domains/${pending}/records/www/A`));
  await world.replica.deps.db
    .updateTable("domain")
    .set({ status: "expired" })
    .where("organisation_id", "=", tenant.id)
    .where("id", "=", pending)
    .execute();
  await owner.post(`/domains/${pending}/verify`);
  made(await owner.delete(`/domains/${pending}`));
  const leaving = await addDeletedDomain(tenant);
  await owner.patch(`/domains/${leaving}`, { ttl: 60 });
  await owner.delete(`/domains/${leaving}`);
  await owner.put(`/domains/${leaving}/records/www/A`, record);
  await owner.delete(`/domains/${leaving}/records/www/A`);
  await owner.post(`/domains/${leaving}/records/www/A/values`, { add: record.values });
  await owner.post(`/domains/${leaving}/changes`, {
    changes: [{ op: "upsert", name: "www", type: "A", ...record }],
  });
  await owner.post(`/domains/${leaving}/zone-file`, { zone_file: "www IN A 192.0.2.1\n" });
  const stale = { op: "upsert", name: "again", type: "A", values: ["192.0.2.3"], if_match: '"r99"' };
  await owner.post(`${path}/changes`, { changes: [stale] });
}

/** The same changes of a firewall without servers, and of one whose server needs a job. */
async function provokeFirewallJobs(
  { tenant, standing }: TwoOrganisations["a"],
  rule: string,
  idle: string,
  attachment: string,
): Promise<void> {
  const { owner, region } = tenant;
  const [some] = tenant.firewallBody().rules;
  made(await owner.post(`${idle}/apply`));
  made(await owner.patch(`${idle}/rules/${rule}`, { description: "of nobody" }));
  made(await owner.delete(`${idle}/rules/${rule}`));
  made(await owner.delete(`${idle}/attachments/${attachment}`));
  const used = await tenant.addUsedFirewall({ subnet_id: standing.subnet });
  const path = `/firewalls/${used.firewall}/rules`;
  await runJob(region.agent, made(await owner.post(`/firewalls/${used.firewall}/apply`)).job.id);
  const set = made(await owner.put(path, { rules: [{ ...some, ports: ["443"] }] }));
  await runJob(region.agent, set.job.id);
  const [setRule] = set.firewall.rules;
  await runJob(region.agent, made(await owner.patch(`${path}/${setRule.id}`, { ports: ["22"] })).job.id);
  await runJob(region.agent, made(await owner.post(path, some)).job.id);
}

async function provokePoolConflicts({ world: { operator }, a }: TwoOrganisations): Promise<void> {
  const { tenant, standing } = a;
  const path = `/ip-pools/${standing.ip_pool}`;
  const pool = made(await operator.get(path));
  const twin = { region: pool.region, name: `${pool.name} too`, gateway: "100.127.0.1", prefix_length: 24 };
  made(await operator.post("/ip-pools", twin));
  await operator.post("/ip-pools", twin);
  await operator.patch(path, { name: twin.name });
  await operator.delete(path);
  const [range] = made(await operator.get(`${path}/ranges?limit=200`)).items.slice(-1);
  await operator.post(`${path}/ranges`, { start: range.start, end: range.end });
  await operator.delete(`${path}/ranges/${range.id}`);
  await operator.post(`${path}/allocations`, { organisation_id: tenant.id, count: 65_536 });
  const { address } = made(await tenant.owner.get(`/public-ips/${standing.public_ip}`));
  await operator.delete(`${path}/allocations/${address}`);
}

/** Rollouts in the wrong order, and a range that begins after the end of a file. */
async function provokeRolloutConflicts({ world, a }: TwoOrganisations): Promise<void> {
  const { operator } = world;
  const path = `/agent-rollouts/${await openRollout(world)}`;
  await operator.post("/agent-rollouts", { version: rolledOut });
  await operator.post(`${path}/resume`);
  for (const verb of ["pause", "pause", "cancel", "cancel"]) await operator.post(`${path}/${verb}`);
  const file = `/agent/releases/${rolledOut}/files/x64`;
  const { agent } = a.tenant.region;
  await agent.with({ Range: "bytes=9-" }).get(file);
  await agent.with({ Range: "bytes=99999999-" }).get(file);
}

/** People who are invited and cannot join. */
async function provokeJoining({ world, a: { tenant } }: TwoOrganisations): Promise<void> {
  const { owner } = tenant;
  const nobody = new ApiCaller(owner.app, null);
  const invited = await tenant.addInvitation();
  await owner.post("/invitations", { email: invited.email, role: "viewer" });
  // A token is no session.
  await owner.post("/me/organisations", { secret: invited.secret });
  await owner.post("/auth/switch-organisation", { organisation_id: tenant.id });
  // The person has an account by now, and signs in otherwise: with a provider that admits new people.
  const password = "a phrase of somebody faster";
  const { db } = world.replica.deps;
  const user = await insertUser(db, {
    id: newId("usr"),
    email: invited.email,
    name: "Faster",
    password_hash: await hashPassword(password),
  });
  if (user === null) throw new Error("an e-mail was made twice");
  await insertMember(db, {
    id: newId("mem"),
    organisation_id: tenant.id,
    user_id: user.id,
    role: "viewer",
  });
  const accept = (chosen: string) =>
    nobody.post("/auth/invitation/accept", { secret: invited.secret, name: "Me", password: chosen });
  await accept("not my phrase at all");
  await accept(password);
}

/** A sign-in that requires more, and changes that need a proof or an existing method. */
async function provokePersonalConflicts({ world, a }: TwoOrganisations): Promise<void> {
  const person = await addPerson(world, a.tenant);
  const { caller, member } = person;
  await caller.post("/me/totp/confirm", { code: "000000" });
  await caller.post("/me/recovery-codes");
  await caller.delete("/me/totp");
  await enrol(person);
  await caller.post("/me/totp");
  const passkey = await newPasskey(caller, new SoftPasskey());
  const identity = await addIdentity(world, person);
  const provider = await sharedProvider();
  const soft = newSoftPerson();
  await caller.post("/me/identities", await ownAnswer(caller, provider, soft, "link"));
  await forgetProof(world, person);
  await caller.post("/me/passkeys", passkey);
  await caller.post("/me/passkey-options", { purpose: "register" });
  await caller.post("/me/identities/authorization", { provider: "soft", purpose: "link" });
  await caller.post("/me/identities", { flow: "v1.none", response: "code=none" });
  await caller.delete(`/me/identities/${identity}`);
  const nobody = new ApiCaller(world.app, null);
  await nobody.post("/auth/oidc", await answerOf(nobody, provider, newSoftPerson()));
  await nobody.post("/auth/oidc", await answerOf(nobody, provider, soft));
  const acting = world.operator.with({ "Kule-Organisation": a.tenant.id });
  await acting.delete(`/members/${member.id}/second-factor`);
  await new ApiCaller(world.app, null).post("/auth/passkey-options", { sign_in: "sgn_of-nobody" });
  await new ApiCaller(world.app, null).post("/auth/login", {
    email: member.email,
    password: member.password,
  });
}

/** An organisation with one owner who is a person, and no one else who could become one. */
async function provokeLastOwner({ world }: TwoOrganisations): Promise<void> {
  const { owner } = await world.addOrganisation(`lonely-${Date.now()}`);
  const email = "lonely@example.org";
  const { member, password } = await addMember(owner, { email, role: "owner" });
  const session = made(await new ApiCaller(world.app, null).post("/auth/login", { email, password }));
  await new ApiCaller(world.app, session.token).delete(`/me/organisations/${session.organisation.id}`);
  await owner.patch(`/members/${member.id}`, { role: "viewer" });
  await owner.delete(`/members/${member.id}`);
}

/**
 * Requests whose Idempotency-Key is held by another one that does not end. Each waits for as long as the API
 * waits for a row, on a connection of its own, so there may only be a few of them.
 */
export async function provokeBusyKeys(
  all: TwoOrganisations,
  provoke: Provocations,
  wanted: (info: OperationInfo) => boolean,
): Promise<void> {
  const { world, a } = all;
  const holder = new pg.Client({ connectionString: world.database.ownerUrl });
  await holder.connect();
  await holder.query("begin");
  try {
    const calls: Promise<unknown>[] = [];
    for (const info of allOperations()) {
      if (!info.headerParameters.includes("Idempotency-Key") || !wanted(info)) continue;
      const isOperators = info.permission.startsWith("operator:");
      const isPersonal = info.permission === "session";
      const caller = isOperators
        ? world.operator.with({ "Kule-Organisation": a.tenant.id })
        : isPersonal
          ? a.person.caller
          : a.tenant.owner;
      const path = info.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => pathOf(all, name, info.path));
      await holder.query(
        `insert into idempotency_key (organisation_id, subject, method, path, key, request_hash, status, headers)
         values ($1, $2, $3, $4, 'busy', '', 200, '{}')`,
        [
          isOperators && !info.headerParameters.includes("Kule-Organisation") ? "" : a.tenant.id,
          isPersonal ? a.person.userId : subjectOf(caller),
          info.method.toUpperCase(),
          `/api/v1${path}`,
        ],
      );
      calls.push(provoke.as(a, caller, infoOf(info.id), { headers: { "Idempotency-Key": "busy" } }));
    }
    await Promise.all(calls);
  } finally {
    await holder.query("rollback");
    await holder.end();
  }
}

function pathOf({ a, agentTokens }: TwoOrganisations, name: string, path: string): string {
  if (name === "region") return "r1";
  if (name === "token_id" && path.startsWith("/regions/")) return agentTokens.r1;
  if (name === "range_id") return a.standing.ip_pool_range;
  if (name === "session_id") return a.standing.console_session;
  if (name === "address") return a.standing.ip_pool_address;
  if (name === "version") return rolledOut;
  if (name === "architecture") return "x64";
  return (a.standing as { readonly [kind: string]: string })[name.replace(/_id$/, "")] ?? "";
}

function subjectOf({ token }: ApiCaller): string {
  return parseToken(token ?? "")?.id ?? "";
}

/** A replica whose limits are used up by the first request of each caller. */
export function openBusyReplica({ world }: TwoOrganisations): Promise<Replica> {
  return openReplica(world.database, { rateLimitPerHour: 1, rateLimitBurst: 1 });
}

/** A replica whose panel has no domain of its own, which passkeys need, and that sends no mail. */
export function openBareReplica({ world }: TwoOrganisations): Promise<Replica> {
  return openReplica(world.database, { consoleOrigins: [], mailFile: null, dns: null });
}

/** A replica whose database is unreachable. */
export function openLostReplica({ world }: TwoOrganisations): Promise<Replica> {
  const nowhere = new URL(world.database.apiUrl);
  // The port of tcpmux, which no program uses.
  nowhere.port = "1";
  nowhere.hostname = "127.0.0.1";
  return openReplica({ ...world.database, apiUrl: nowhere.href });
}
