import { newSoftPerson, ownAnswer, providerEntry } from "@kule/api/testing/soft-sign-ins";
import { SoftProvider } from "@kule/testing/oidc/soft-provider";
import { crawl } from "./crawl.ts";
import { type PanelWorld, startPanelWorld } from "./panel-world.ts";
import { done } from "./scene-api.ts";
import { complete } from "./scenes/complete.ts";
import type { FactsOf } from "./scenes/scene.ts";
import { Visitor } from "./visitor.ts";
import { elsewhere } from "./visitor-session.ts";

export type CompleteWorld = PanelWorld<FactsOf<typeof complete>>;

/** The function that is called on each page of the panel. */
export type SeePage = (visitor: Visitor, path: string, html: string) => void;

/** A world with one of everything, and a provider of sign-ins, which has an account that is linked to Ada's. */
export async function startCompleteWorld(): Promise<CompleteWorld> {
  const provider = await SoftProvider.start();
  const world = await startPanelWorld(complete, { settings: { oidcProviders: [providerEntry(provider)] } });
  const { password } = world.facts.people.ada;
  const ada = elsewhere(world, "ada");
  await done(ada.post("/me/proof", { password }));
  await done(ada.post("/me/identities", await ownAnswer(ada, provider, newSoftPerson(), "link")));
  // Of another browser, which can be signed out.
  await new Visitor(world).signIn();
  return {
    ...world,
    async stop() {
      await provider.stop();
      await world.stop();
    },
  };
}

/**
 * Visits every page of the panel: as a member of an organisation, and as an operator before and after choosing one.
 * Forms without a page of their own are reached by the actions that lead to them.
 */
export async function visitEveryPage(world: CompleteWorld, see: SeePage): Promise<void> {
  const { facts } = world;
  const { acme, servers } = facts;
  const ada = await world.signedIn("ada");
  await followLinks(ada, "/servers", see);
  const grace = await world.signedIn("grace");
  for (const page of [
    `/join?invitation=${facts.invitation}`,
    "/forgot-password",
    "/reset-password?secret=kule_pwr_x",
  ])
    see(grace, page, await grace.page(page));
  await followLinks(grace, "/operator", see);
  await grace.submit("/organisations", "/organisations", { organisation_id: acme.id });
  const server = `/servers/${servers["app-2"]}`;
  await followLinks(grace, server, see);
  await followLinks(ada, `/servers/${servers["db-2"]}/resize?package=m`, see);
  await done(
    world.real.operator.with({ "Kule-Organisation": acme.id }).post(`${server}/lock`, { reason: "A look" }),
  );
  for (const page of [`/operator${server}/lock`, `/operator${server}/reconcile`])
    see(grace, page, await grace.page(page));
  await visitSelections(world, ada, see);
  await visitSecondFactors(world, ada, see);
}

async function visitSelections(world: CompleteWorld, ada: Visitor, see: SeePage): Promise<void> {
  for (const [list, acts] of [
    ["servers", ["reboot", "delete", "restore"]],
    ["networks", ["delete"]],
    ["gateways", ["delete"]],
    ["firewalls", ["apply"]],
    ["public-ips", ["release"]],
    ["ssh-keys", ["delete"]],
  ] as const) {
    const items = await world.real.list(`/${list}?limit=100`);
    const ids = items.map(({ id }) => `&ids=${id}`).join("");
    for (const act of acts) await followLinks(ada, `/${list}/selected?act=${act}${ids}`, see);
  }
}

/** The pages of a person without and with a second factor. */
async function visitSecondFactors(world: CompleteWorld, ada: Visitor, see: SeePage): Promise<void> {
  await followLinks(ada, "/account/proof", see);
  const setUp = await ada.submit("/account/security", "/account/two-factor/begin", {});
  see(ada, "the page that sets an app up", await setUp.text());
  const { id } = world.facts.people.ada;
  await world.real.sql("update user_totp set confirmed_at = clock_timestamp() where user_id = $1", [id]);
  await world.real.sql(
    `insert into passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced)
     values ('psk_06ex2v3m8n4k6q1r5s7t9w0y2z', $1, 'Laptop', 'credential', '', 0, '{}', false)`,
    [id],
  );
  for (const path of ["/account/security", "/account/proof"]) see(ada, path, await ada.page(path));
}

/** Visits every page that a first one leads to. */
export async function followLinks(visitor: Visitor, first: string, see: SeePage): Promise<void> {
  await crawl(first, async ({ path }) => {
    const answer = await visitor.get(path);
    if (answer.status >= 400) throw new Error(`${path} answered ${answer.status}`);
    if (answer.headers.get("content-type")?.startsWith("text/html") !== true) return null;
    const page = await answer.text();
    see(visitor, path, page);
    return page;
  });
}
