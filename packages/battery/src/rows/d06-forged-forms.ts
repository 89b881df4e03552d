import { RegionScene } from "../job-kinds/region-scene.ts";
import { forgeries, tokenField } from "../panel-forms/forgeries.ts";
import { formsOfPanel } from "../panel-forms/panel-forms.ts";
import { PanelBrowser } from "../panel-sessions/panel-browser.ts";
import type { Row } from "../row.ts";

const startPages = [
  ...["/servers", "/networks", "/firewalls", "/gateways", "/public-ips", "/ssh-keys", "/jobs", "/usage"],
  ...["/usage/events", "/usage/segments"],
  ...["/members", "/tokens", "/audit", "/quotas", "/account/security", "/switch-organisation"],
];
const operatorsPages = [...startPages, "/operator/regions", "/organisations", "/ip-pools"];
/** Kinds of forms on these pages; with fewer the row would prove nothing. */
const fewestKinds = 50;
/** These change nothing but the visitor's own cookies, and are what a test of effects cannot see. */
const inCookiesAlone = new Set(["/preferences"]);

export const row: Row = {
  id: "D6",
  title: "No form of the panel can be sent by another site, from another session's page or in another way",
  minutes: 1,
  mutants: [
    {
      name: "any-token",
      removes: "the comparison of a form's token",
      patches: [
        {
          file: "apps/console/src/csrf.ts",
          find: "return given.length === expected.length && timingSafeEqual(given, expected);",
          replace: "return timingSafeEqual(expected, expected);",
        },
      ],
      expects: /with the token of another session/,
    },
    {
      name: "any-origin",
      removes: "the check of a form's origin",
      patches: [
        {
          file: "apps/console/src/request-guard.ts",
          find: "if (!sameOrigin || !formTokenHolds(",
          replace: "if ((!sameOrigin && context === null) || !formTokenHolds(",
        },
      ],
      expects: /from another site/,
    },
    {
      name: "null-origin",
      removes: "the refusal of a page without an origin",
      patches: [
        {
          file: "apps/console/src/csrf.ts",
          find: 'if (origin === undefined || origin === "null") return site === "same-origin";',
          replace: 'if (origin === undefined || origin === "null") return site !== "cross-site";',
        },
      ],
      expects: /from a page without an origin/,
    },
  ],
  run: (run) =>
    RegionScene.use({}, async (scene) => {
      const { world } = scene;
      world.startAgent({});
      const { url } = await world.startPanel();
      const { server, job } = await world.createServer("victim");
      await world.untilDone(job.id);
      const { organisation } = world;
      const { data: firewall } = await organisation.POST("/firewalls", {
        body: { name: "victims", region: "lab1", rules: [] },
      });
      await organisation.POST("/firewalls/{firewall_id}/attachments", {
        params: { path: { firewall_id: firewall?.firewall.id ?? "" } },
        body: { server_id: server.id },
      });
      await organisation.POST("/invitations", { body: { email: "grete@example.org", role: "viewer" } });
      await organisation.POST("/tokens", { body: { name: "victims", role: "viewer" } });
      const { data: made } = await organisation.POST("/networks", {
        body: { name: "victims", region: "lab1", cidr: "10.77.0.0/16" },
      });
      await organisation.POST("/networks/{network_id}/subnets", {
        params: { path: { network_id: made?.network.id ?? "" } },
        body: { name: "app", tier: "app", cidr: "10.77.1.0/24" },
      });
      const violations = new Set<string>();
      let cases = 0;
      const kinds = new Set<string>();
      for (const who of ["organisation", "operator"] as const) {
        const [victim, another] = [new PanelBrowser(url), new PanelBrowser(url)];
        await victim.signIn(world.users[who]);
        await another.signIn(world.users[who === "operator" ? "organisation" : "operator"]);
        const other = await another.hiddenFields("/account/security", "/sign-out");
        const tokenOfAnother = other[tokenField] ?? "";
        if (who === "operator") {
          const [own] = (await scene.operator.get("/organisations?limit=200")).body.items;
          await victim.submit("/organisations", "/organisations", { organisation_id: own.id });
        }
        const forms = (
          await formsOfPanel(victim, [
            ...(who === "operator" ? operatorsPages : startPages),
            `/servers/${server.id}`,
          ])
        ).filter(({ kind }) => !kinds.has(kind));
        for (const form of forms) {
          kinds.add(form.kind);
          for (const forgery of forgeries) {
            cases += 1;
            const before = await mutationsIn(scene);
            const answer = await forgery.send(victim, form, tokenOfAnother);
            await answer.arrayBuffer();
            const isRefused = answer.status === 403 || answer.status === 404 || answer.status === 405;
            if (forgery.isRead !== true && !isRefused)
              violations.add(`${form.kind} ${forgery.name} is answered ${answer.status}`);
            if (!inCookiesAlone.has(form.action) && (await mutationsIn(scene)) !== before)
              violations.add(`${form.kind} ${forgery.name} has done something`);
          }
          run.progress(`${kinds.size} kinds of forms, ${cases} forgeries, ${violations.size} violations`);
        }
        // The victim's own hand still works, and its session is still there.
        if (!(await victim.isSignedIn())) violations.add(`a forged form has signed the ${who} out`);
      }
      if (kinds.size < fewestKinds) violations.add(`only ${kinds.size} kinds of forms were found`);
      return { cases, violations: [...violations], figures: { "kinds of forms": kinds.size } };
    }),
};

/** How many changes people made: theirs are in the trail, without those of agents. */
async function mutationsIn(scene: RegionScene): Promise<number> {
  const { rows } = await scene.owner.query<{ acts: number }>(
    "select count(*)::integer as acts from audit where actor_type in ('user', 'operator', 'token')",
  );
  return rows[0]?.acts ?? 0;
}
