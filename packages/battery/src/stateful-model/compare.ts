import { isCancellable, isRetryable } from "../reference-model/job-requests.ts";
import {
  diskOf,
  isLeaving,
  liveNetworks,
  liveSubnets,
  type ModelState,
  UNNAMED,
} from "../reference-model/model-state.ts";
import { ipsOf } from "../reference-model/public-ip-endings.ts";
import {
  attachedSomewhere,
  detachRefusal,
  holderOf,
  ipStatus,
  releaseRefusal,
} from "../reference-model/public-ips.ts";
import { QUOTAS, usedBy } from "../reference-model/quotas.ts";
import { refusalOf, SERVER_ACTIONS } from "../reference-model/server-actions.ts";
import type { ModelIp, ModelServer, Side } from "../reference-model/types.ts";
import { ask, type Real, same } from "./real-world.ts";

/** Compares a server and all of its jobs, as its owner sees them, with the model. */
export async function compareServer(real: Real, state: ModelState, server: ModelServer): Promise<void> {
  const { id, side } = server;
  if (server.status === "deleted") await ask(real, side, "GET", `/servers/${id}`, { status: 404 });
  else {
    const shown = await ask(real, side, "GET", `/servers/${id}`, { status: 200 });
    same(
      `server ${server.name}`,
      [
        shown.name,
        shown.status,
        shown.power_state,
        shown.deletion?.restores_to ?? null,
        Object.entries(shown.labels).sort(byId),
        shown.protection,
        shown.locked !== null,
        shown.package.slug,
        shown.disk_gb,
        shown.image.slug,
        shown.ssh_key_ids,
        shown.interfaces.map((each: { subnet_id: string }) => each.subnet_id),
      ],
      [
        server.name,
        server.status,
        server.power,
        isLeaving(server.status) ? server.restoresTo : null,
        Object.entries(server.labels).sort(byId),
        { delete: server.isProtected, rebuild: server.isRebuildProtected },
        server.isLocked,
        server.package,
        diskOf(server),
        server.image,
        server.keys,
        [server.subnet.id],
      ],
    );
    same(
      `what may be done with server ${server.name}, which is ${server.status}`,
      Object.fromEntries(SERVER_ACTIONS.map((action) => [action, shown.actions[action].code])),
      Object.fromEntries(SERVER_ACTIONS.map((action) => [action, refusalOf(action, server)])),
    );
    same(
      `public addresses of server ${server.name}`,
      shown.public_ips
        .map((ip: Shown["ip"]) => [ip.id, ip.address, ip.status, ip.requires_reboot])
        .sort(byId),
      ipsOf(state, server)
        .filter((ip) => holderOf(ip) === server)
        .map((ip) => [ip.id, ip.address.address, ipStatus(ip), ip.needsReboot])
        .sort(byId),
    );
  }
  await compareJobs(real, server);
}

async function compareJobs(real: Real, server: ModelServer): Promise<void> {
  const { items } = await ask(real, server.side, "GET", `/jobs?resource=${server.id}&limit=200`, {
    status: 200,
  });
  nameJobs(server, items);
  same(
    `jobs of server ${server.name}`,
    items
      .map((job: Shown["job"]) => [
        job.id,
        job.kind,
        job.action,
        job.status,
        job.cancel_requested,
        job.cancellable,
        job.retryable,
      ])
      .sort(byId),
    server.jobs
      .map((job) => [
        job.id,
        job.kind,
        job.order.action ?? null,
        job.status,
        job.cancelRequested,
        isCancellable(job) && !job.cancelRequested,
        isRetryable(job),
      ])
      .sort(byId),
  );
}

/** The model predicts the jobs that the API writes by itself, and learns their ids here. */
function nameJobs(server: ModelServer, items: readonly Shown["job"][]): void {
  const known = new Set(server.jobs.map(({ id }) => id));
  for (const job of server.jobs) {
    if (job.id !== UNNAMED) continue;
    const found = items.find((each) => each.kind === job.kind && !known.has(each.id));
    if (found === undefined)
      throw new Error(`the model says that server ${server.name} has another ${job.kind}, and it has none`);
    job.id = found.id;
    known.add(found.id);
  }
}

type Shown = {
  readonly job: {
    readonly id: string;
    readonly kind: string;
    readonly action: string | null;
    readonly status: string;
    readonly cancel_requested: boolean;
    readonly cancellable: boolean;
    readonly retryable: boolean;
  };
  readonly ip: {
    readonly id: string;
    readonly address: string;
    readonly status: string;
    readonly requires_reboot: boolean;
  };
  readonly quota: { readonly name: string; readonly used: number; readonly limit: number | null };
  readonly key: { readonly id: string; readonly name: string; readonly used_by_server_count: number };
};

/** Servers with a predicted job whose id the model has not learnt yet. */
export async function compareUnnamed(real: Real, state: ModelState): Promise<void> {
  for (const server of state.servers)
    if (server.jobs.some(({ id }) => id === UNNAMED)) await compareServer(real, state, server);
}

export async function compareIp(real: Real, ip: ModelIp): Promise<void> {
  const path = `/public-ips/${ip.id}`;
  if (ip.isGone) {
    await ask(real, ip.side, "GET", path, { status: 404 });
    return;
  }
  const shown = await ask(real, ip.side, "GET", path, { status: 200 });
  same(
    `public address ${ip.address.address}`,
    [
      shown.address,
      shown.status,
      shown.attached_to?.id ?? null,
      shown.requires_reboot,
      shown.status_reason?.code ?? null,
      shown.protection.delete,
      shown.delete_with_server,
      shown.actions.attach.code,
      shown.actions.detach.code,
      shown.actions.delete.code,
    ],
    [
      ip.address.address,
      ipStatus(ip),
      holderOf(ip)?.id ?? null,
      ip.needsReboot,
      ip.reason,
      ip.isProtected,
      ip.goesWithServer,
      attachedSomewhere(ip),
      detachRefusal(ip),
      releaseRefusal(ip),
    ],
  );
}

/** How much each organisation uses of its quotas. */
export async function compareQuotas(real: Real, state: ModelState, side: Side): Promise<void> {
  const { items } = await ask(real, side, "GET", "/quotas", { status: 200 });
  const used = usedBy(state, side);
  same(
    `quotas of organisation ${side}`,
    items.map((quota: Shown["quota"]) => [quota.name, quota.used, quota.limit]),
    QUOTAS.map((name) => [name, used[name], state.limits[side].get(name) ?? null]),
  );
}

/** Everything that both organisations see, against everything that they should. */
export async function compareAll(real: Real, state: ModelState): Promise<void> {
  for (const server of state.servers) await compareServer(real, state, server);
  for (const ip of state.ips) await compareIp(real, ip);
  for (const side of [0, 1] as const) {
    const live = (each: { readonly side: Side; readonly isGone: boolean }) =>
      each.side === side && !each.isGone;
    await compareQuotas(real, state, side);
    const servers = state.servers.filter((each) => each.side === side && each.status !== "deleted");
    await compareList(real, side, "/servers", idsOf(servers));
    await compareList(real, side, "/networks", idsOf(liveNetworks(state, side)));
    await compareList(real, side, "/public-ips", idsOf(state.ips.filter(live)));
    await compareList(
      real,
      side,
      "/ssh-keys",
      state.keys
        .filter(live)
        .map(({ id, name }) => `${id} ${name} ${servers.filter((server) => server.keys.includes(id)).length}`)
        .sort(),
      (key) => `${key.id} ${key.name} ${key.used_by_server_count}`,
    );
    await compareList(
      real,
      side,
      "/members",
      state.members
        .filter(live)
        .map((member) => `${member.id} ${member.role}`)
        .sort(),
      (item) => `${item.id} ${item.role}`,
    );
    for (const network of liveNetworks(state, side))
      await compareList(
        real,
        side,
        `/networks/${network.id}/subnets`,
        idsOf(liveSubnets(state, side).filter((subnet) => subnet.network === network)),
      );
    const jobs = state.servers.filter((server) => server.side === side).flatMap((server) => server.jobs);
    await compareList(real, side, "/jobs", jobs.map(({ id }) => id).sort());
  }
}

const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).sort();
const byId = (one: readonly unknown[], other: readonly unknown[]) =>
  String(one[0]) < String(other[0]) ? -1 : 1;

async function compareList(
  real: Real,
  side: Side,
  path: string,
  expected: readonly string[],
  show: (item: Shown["key"] & { role: string }) => string = ({ id }) => id,
): Promise<void> {
  const { items } = await ask(real, side, "GET", `${path}?limit=200`, { status: 200 });
  same(`GET ${path} of organisation ${side}`, items.map(show).sort(), expected);
}
