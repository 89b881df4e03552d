import { providerEntry } from "@kule/api/testing/soft-sign-ins";
import { SoftProvider } from "@kule/testing/oidc/soft-provider";
import { haveSecondFactor, linkProvider } from "./account-states.ts";
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
  const { id, email, password } = world.facts.people.ada;
  await linkProvider(world.real, id, email, provider);
  // Forms that change how Ada signs in are sent by this session.
  await done(elsewhere(world, "ada").post("/me/proof", { password }));
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
  const ada = explorer(await world.signedIn("ada"), see);
  await ada.followLinks("/servers");
  const grace = explorer(await world.signedIn("grace"), see);
  for (const page of [
    `/join?invitation=${facts.invitation}`,
    "/forgot-password",
    "/reset-password?secret=kule_pwr_x",
  ])
    await grace.visit(page);
  await grace.followLinks("/operator");
  await grace.visitor.submit("/organisations", "/organisations", { organisation_id: acme.id });
  const within = explorer(grace.visitor, see);
  const server = `/servers/${servers["app-2"]}`;
  await within.followLinks(server);
  await ada.followLinks(`/servers/${servers["db-2"]}/resize?package=m`);
  await done(
    world.real.operator.with({ "Kule-Organisation": acme.id }).post(`${server}/lock`, { reason: "A look" }),
  );
  for (const page of [`/operator${server}/lock`, `/operator${server}/reconcile`]) await within.visit(page);
  await visitZoneChanges(world, ada);
  await visitSelections(world, ada);
  await visitSecondFactors(world, ada);
}

/** The pages between a zone file and its import, and between chosen records and their deletion. */
async function visitZoneChanges(world: CompleteWorld, ada: Explorer): Promise<void> {
  const domain = `/domains/${world.facts.domains.shop}`;
  const page = `${domain}/import`;
  const fields = { zone_file: "new A 192.0.2.3\n", mode: "merge" };
  ada.see("the preview of an import", await (await ada.visitor.submit(page, page, fields)).text());
  const chosen = { ids: ["A/www", "MX/@"] };
  const deletion = await ada.visitor.submit(domain, `${domain}/records/selected`, chosen);
  ada.see("the preview of a deletion of records", await deletion.text());
}

async function visitSelections(world: CompleteWorld, ada: Explorer): Promise<void> {
  for (const [list, acts] of [
    ["servers", ["reboot", "delete", "restore"]],
    ["networks", ["delete"]],
    ["gateways", ["delete"]],
    ["load-balancers", ["apply", "delete"]],
    ["firewalls", ["apply"]],
    ["public-ips", ["release"]],
    ["domains", ["apply", "delete"]],
    ["certificates", ["delete"]],
    ["ssh-keys", ["delete"]],
  ] as const) {
    const items = await world.real.list(`/${list}?limit=100`);
    const ids = items.map(({ id }) => `&ids=${id}`).join("");
    for (const act of acts) await ada.followLinks(`/${list}/selected?act=${act}${ids}`);
  }
}

/** The pages of a person without and with a second factor. */
async function visitSecondFactors(world: CompleteWorld, ada: Explorer): Promise<void> {
  await ada.followLinks("/account/proof");
  const setUp = await ada.visitor.submit("/account/security", "/account/two-factor/begin", {});
  ada.see("the page that sets an app up", await setUp.text());
  await haveSecondFactor(world.real, world.facts.people.ada.id);
  for (const path of ["/account/security", "/account/proof"]) await ada.visit(path);
}

type Explorer = {
  readonly visitor: Visitor;
  see(path: string, html: string): void;
  /** Visits a page, whether or not it was visited before. */
  visit(path: string): Promise<void>;
  /** Visits every page that a first one leads to and that was not visited yet. */
  followLinks(first: string): Promise<void>;
};

/** A visitor in one state, who needs to see no page twice. */
export function explorer(visitor: Visitor, seePage: SeePage): Explorer {
  const seen = new Set<string>();
  const see = (path: string, html: string) => seePage(visitor, path, html);
  return {
    visitor,
    see,
    async visit(path) {
      see(path, await visitor.page(path));
    },
    async followLinks(first) {
      await crawl(first, async ({ path }) => {
        if (seen.has(path)) return null;
        seen.add(path);
        const answer = await visitor.get(path);
        if (answer.status >= 400) throw new Error(`${path} answered ${answer.status}`);
        if (answer.headers.get("content-type")?.startsWith("text/html") !== true) return null;
        const page = await answer.text();
        see(path, page);
        return page;
      });
    },
  };
}
