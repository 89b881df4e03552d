import { isCancellable, isRetryable } from "./model-servers.ts";
import { liveNetworks, liveSubnets, type ModelServer, type ModelState, type Side } from "./model-state.ts";
import { ask, type Real, same } from "./real-world.ts";

/** Holds a server and all of its jobs, as its owner sees them, against the model. */
export async function compareServer(real: Real, server: ModelServer): Promise<void> {
  const { id, side } = server;
  if (server.status === "deleted") await ask(real, side, "GET", `/servers/${id}`, { status: 404 });
  else {
    const shown = await ask(real, side, "GET", `/servers/${id}`, { status: 200 });
    const isLeaving = server.status === "pending_deletion" || server.status === "deleting";
    same(
      `server ${server.name}`,
      [
        shown.status,
        shown.power_state,
        shown.protection.delete,
        shown.deletion?.restores_to ?? null,
        shown.actions.delete.allowed,
        shown.actions.cancel_deletion.allowed,
        shown.actions.update.allowed,
        shown.interfaces.map((each: { subnet_id: string }) => each.subnet_id),
      ],
      [
        server.status,
        server.power,
        server.isProtected,
        isLeaving ? server.restoresTo : null,
        !isLeaving && !server.isProtected,
        server.status === "pending_deletion",
        !isLeaving,
        [server.subnet.id],
      ],
    );
  }
  const { items } = await ask(real, side, "GET", `/jobs?resource=${id}&limit=200`, { status: 200 });
  same(
    `jobs of server ${server.name}`,
    items
      .map((job: Shown) => [
        job.id,
        job.kind,
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
        job.status,
        job.cancelRequested,
        isCancellable(job) && !job.cancelRequested,
        isRetryable(job),
      ])
      .sort(byId),
  );
}

type Shown = {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly cancel_requested: boolean;
  readonly cancellable: boolean;
  readonly retryable: boolean;
};

/** Everything that both organisations see, against everything that they should. */
export async function compareAll(real: Real, state: ModelState): Promise<void> {
  for (const server of state.servers) await compareServer(real, server);
  for (const side of [0, 1] as const) {
    await compareList(real, side, "/servers", idsOf(state.servers.filter(mine(side, "deleted"))));
    await compareList(real, side, "/networks", idsOf(liveNetworks(state, side)));
    await compareList(
      real,
      side,
      "/ssh-keys",
      idsOf(state.keys.filter((each) => each.side === side && !each.isGone)),
    );
    await compareList(
      real,
      side,
      "/members",
      state.members
        .filter((each) => each.side === side && !each.isGone)
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
    await compareList(real, side, "/jobs", idsOf(jobs));
  }
}

const mine = (side: Side, gone: string) => (each: ModelServer) => each.side === side && each.status !== gone;
const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).sort();
const byId = (one: readonly unknown[], other: readonly unknown[]) =>
  String(one[0]) < String(other[0]) ? -1 : 1;

async function compareList(
  real: Real,
  side: Side,
  path: string,
  expected: readonly string[],
  show: (item: { id: string; role: string }) => string = ({ id }) => id,
): Promise<void> {
  const { items } = await ask(real, side, "GET", `${path}?limit=200`, { status: 200 });
  same(`GET ${path} of organisation ${side}`, items.map(show).sort(), expected);
}
