import type { ConsoleWorld } from "./console-world.ts";
import { crawl } from "./crawl.ts";
import { fakeFirewall } from "./fake-firewalls.ts";
import { fakeId, fakeSubnet, usageOf } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";
import { seedEverything } from "./seed-everything.ts";
import { Visitor } from "./visitor.ts";

/** The function that is called on each page of the panel. */
export type SeePage = (visitor: Visitor, path: string, html: string) => void;

/**
 * Visits every page of the panel, with one of everything on them: as a member of an organisation, and as an operator
 * before and after choosing one. Forms without a page of their own are reached by the actions that lead to them.
 */
export async function visitWholePanel(world: ConsoleWorld, see: SeePage): Promise<void> {
  const { state } = world.api;
  seedEverything(state);
  seedSpares(state);
  const ada = await new Visitor(world).signIn();
  for (const email of ["grete@example.org", "grace@example.org"])
    await ada.submit("/members/invite", "/members/invite", { email, role: "viewer", expires_in_days: "7" });
  await follow(ada, "/servers", see);
  const grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  const join = `/join?invitation=${state.invitations[0]?.secret}`;
  see(grace, join, await grace.page(join));
  for (const page of ["/forgot-password", "/reset-password?secret=kule_pwr_x"])
    see(grace, page, await grace.page(page));
  const [pool] = state.ipPools;
  const [organisation] = state.organisations;
  const pools = `/ip-pools/${pool?.pool.id}`;
  await grace.submit(pools, `${pools}/ranges`, { range: "203.0.113.0/26" });
  await grace.submit(pools, `${pools}/allocations`, {
    organisation_id: organisation?.id ?? "",
    count: "1",
    addresses: "",
  });
  await follow(grace, "/operator", see);
  await grace.submit("/organisations", "/organisations", { organisation_id: organisation?.id ?? "" });
  await follow(grace, `/servers/${state.servers[0]?.id}`, see);
  const [server] = state.servers;
  // The first one has an open job.
  await follow(ada, `/servers/${state.servers.at(-1)?.id}/resize?package=m`, see);
  if (server !== undefined) {
    const by = { type: "user" as const, id: "usr_1", name: "Grace Operator" };
    state.changeServer(server.id, { locked: { reason: "A look", by, at: new Date().toISOString() } });
    const lock = `/operator/servers/${server.id}/lock`;
    see(grace, lock, await grace.page(lock));
    const reconcile = `/operator/servers/${server.id}/reconcile`;
    see(grace, reconcile, await grace.page(reconcile));
    state.changeServer(server.id, { locked: null });
  }
  const chosen = state.servers.map(({ id }) => `&ids=${id}`).join("");
  for (const act of ["reboot", "delete", "restore"])
    await follow(ada, `/servers/selected?act=${act}${chosen}`, see);
  const { networks, gateways, firewalls, publicIps, sshKeys } = state;
  for (const [page, act, items] of [
    ["networks", "delete", networks],
    ["gateways", "delete", gateways],
    ["firewalls", "apply", firewalls],
    ["public-ips", "release", publicIps],
    ["ssh-keys", "delete", sshKeys],
  ] as const) {
    const ids = items.map(({ id }) => `&ids=${id}`).join("");
    await follow(ada, `/${page}/selected?act=${act}${ids}`, see);
  }
  await follow(ada, "/account/proof", see);
  const setUp = await ada.submit("/account/security", "/account/two-factor/begin", {});
  see(ada, "the page that sets an app up", await setUp.text());
  state.hasTwoFactor = true;
  for (const path of ["/account/security", "/account/proof"]) see(ada, path, await ada.page(path));
}

/** Visits every page that servers lead to, with one of everything on them, as a signed-in member. */
export async function visitAs(world: ConsoleWorld, visitor: Visitor, see: SeePage): Promise<void> {
  seedEverything(world.api.state);
  seedSpares(world.api.state);
  await follow(visitor, "/servers", see);
}

/** Beside the resources in use, one unused of each, which can be deleted. */
function seedSpares(state: FakeState): void {
  const [network] = state.networks;
  const [gateway] = state.gateways;
  const [, second] = state.subnets;
  const [pool] = state.ipPools;
  const [person] = state.users;
  if (!person || !network || !gateway || !second || !pool) throw new Error("nothing is seeded");
  const spare = {
    ...fakeSubnet({ name: "spare", tier: "app", cidr: "10.20.9.0/24" }, network),
    usage: usageOf(253, 0),
  };
  state.subnets.push(spare);
  network.subnets.push({ id: spare.id, name: spare.name, tier: spare.tier, cidr: spare.cidr });
  const { id: subnet_id, name, cidr } = second;
  gateway.subnets.push({ subnet_id, name, cidr, status: "ready" });
  state.firewalls.push(fakeFirewall({ name: "spare" }));
  const organisation = { id: fakeId("org"), slug: "spare", name: "Spare" };
  state.memberships.push({ user: person.id, organisation, role: "member" });
  const emptied = { ...pool.pool, id: fakeId("pool"), name: "spare" };
  state.ipPools.push({ pool: emptied, ranges: [], allocations: [] });
}

async function follow(visitor: Visitor, first: string, see: SeePage): Promise<void> {
  await crawl(first, async ({ path }) => {
    const answer = await visitor.get(path);
    if (answer.status >= 400) throw new Error(`${path} answered ${answer.status}`);
    if (answer.headers.get("content-type")?.startsWith("text/html") !== true) return null;
    const page = await answer.text();
    see(visitor, path, page);
    return page;
  });
}
