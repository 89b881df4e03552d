import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden, notFound } from "../../failures.tsx";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { TargetPage } from "./change-target-page.tsx";
import { balancerIds, balancerPage, changeOptions, readTab } from "./read-tab.ts";
import { showOverview } from "./show-routes.tsx";
import { targetBody, targetChange, targetFields } from "./target-values.ts";

const errorPlaces = { fields: targetFields };

/** The targets of a load balancer: the page that adds one, the pages that change them, and the forms of their rows. */
export function targetRoutes(routes: Hono<ConsoleEnv>): void {
  const list = "/load-balancers/:load_balancer_id/targets";
  const one = `${list}/:target_id`;
  const answer = answersOf(balancerPage, show);
  const answerRow = answersOf(balancerPage, showOverview);
  routes.get(`${list}/new`, (context) => show(context, null, null, 200));
  routes.get(one, (context) => show(context, null, null, 200));
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["drain", "delete"])
    routes.get(`${one}/${act}`, (context) => context.redirect(balancerPage(context), 303));

  routes.post(`${list}/new`, async (context) => {
    const values = postedValues(context, targetFields);
    const outcome = await attempt(
      context.get("api").POST("/load-balancers/{load_balancer_id}/targets", {
        params: changeOptions(context),
        body: targetBody(values),
      }),
    );
    return answer(context, { outcome, notice: "targetAdded", of: "target", values, errorPlaces });
  });

  routes.post(one, async (context) => {
    const values = postedValues(context, targetFields);
    const outcome = await update(context, targetChange(values));
    return answer(context, { outcome, notice: "targetChanged", of: "target", values, errorPlaces });
  });

  routes.post(`${one}/drain`, async (context) => {
    const drain = context.get("form").get("drain") === "true";
    const outcome = await update(context, { drain });
    return answerRow(context, { outcome, notice: drain ? "drained" : "undrained", of: "drain" });
  });

  routes.post(`${one}/delete`, async (context) => {
    const outcome = doneIfAbsent(
      await attempt(
        context.get("api").DELETE("/load-balancers/{load_balancer_id}/targets/{target_id}", {
          params: targetOptions(context),
        }),
      ),
    );
    return answerRow(context, { outcome, notice: "targetRemoved", of: "remove-target" });
  });
}

const targetId = (context: ConsoleContext) => context.req.param("target_id");

const targetOptions = (context: ConsoleContext) => ({
  ...changeOptions(context),
  path: { ...balancerIds(context), target_id: targetId(context) ?? "" },
});

const update = (context: ConsoleContext, body: ReturnType<typeof targetChange>) =>
  attempt(
    context.get("api").PATCH("/load-balancers/{load_balancer_id}/targets/{target_id}", {
      params: targetOptions(context),
      body,
    }),
  );

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const { session } = context.get("view");
  if (session !== null && !may(session, "load_balancer:write")) return forbidden(context, []);
  const api = context.get("api");
  const path = balancerIds(context);
  const id = targetId(context);
  const [tab, targets] = await Promise.all([
    readTab(context, banner, form),
    id === undefined
      ? { items: [] }
      : readAll((page) =>
          api.GET("/load-balancers/{load_balancer_id}/targets", { params: { path, query: page } }),
        ),
  ]);
  const target = targets.items.find((each) => each.id === id) ?? null;
  if (id !== undefined && target === null) return notFound(context);
  const { region, network_id } = tab.balancer;
  const [network, servers] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path: { network_id } } })),
    readAll((page) => api.GET("/servers", { params: { query: { ...page, region, sort: "name" } } })),
  ]);
  const inNetwork = servers.items.filter(({ interfaces }) =>
    interfaces.some((nic) => network.subnets.some((subnet) => subnet.id === nic.subnet_id)),
  );
  return context.html(renderPage(<TargetPage {...tab} target={target} servers={inNetwork} />), status);
}
