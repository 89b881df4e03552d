import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { readCertificates } from "./certificate-choices.ts";
import { ListenerPage } from "./change-listener-page.tsx";
import { listenerBody, listenerFieldOf, listenerFields } from "./listener-values.ts";
import { balancerIds, balancerPage, changeOptions, readTab } from "./read-tab.ts";
import { showOverview } from "./show-routes.tsx";

const errorPlaces = { fields: listenerFieldOf, conflicts: { port_in_use: "port" } };

/** The listeners of a load balancer: the page that adds one, and the pages that change them. */
export function listenerRoutes(routes: Hono<ConsoleEnv>): void {
  const list = "/load-balancers/:load_balancer_id/listeners";
  const one = `${list}/:listener_id`;
  const answer = answersOf(balancerPage, show);
  routes.get(`${list}/new`, (context) => show(context, null, null, 200));
  routes.get(one, (context) => show(context, null, null, 200));
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get(`${one}/delete`, (context) => context.redirect(balancerPage(context), 303));

  routes.post(`${list}/new`, async (context) => {
    const values = postedListener(context);
    const outcome = await attempt(
      context.get("api").POST("/load-balancers/{load_balancer_id}/listeners", {
        params: changeOptions(context),
        body: listenerBody(values),
      }),
    );
    return answer(context, { outcome, notice: "listenerAdded", of: "listener", values, errorPlaces });
  });

  routes.post(one, async (context) => {
    const values = postedListener(context);
    const outcome = await attempt(
      context.get("api").PATCH("/load-balancers/{load_balancer_id}/listeners/{listener_id}", {
        params: listenerOptions(context),
        body: listenerBody(values),
      }),
    );
    return answer(context, { outcome, notice: "listenerChanged", of: "listener", values, errorPlaces });
  });

  routes.post(`${one}/delete`, async (context) => {
    const outcome = doneIfAbsent(
      await attempt(
        context.get("api").DELETE("/load-balancers/{load_balancer_id}/listeners/{listener_id}", {
          params: listenerOptions(context),
        }),
      ),
    );
    return answersOf(balancerPage, showOverview)(context, {
      outcome,
      notice: "listenerRemoved",
      of: "remove-listener",
    });
  });
}

/** Of the certificates each is a box. */
const postedListener = (context: ConsoleContext) => ({
  ...postedValues(context, listenerFields),
  certificate_ids: context.get("form").getAll("certificate_ids").join("\n"),
});

const listenerIds = (context: ConsoleContext) => ({
  ...balancerIds(context),
  listener_id: context.req.param("listener_id") ?? "",
});

const listenerOptions = (context: ConsoleContext) => ({
  ...changeOptions(context),
  path: listenerIds(context),
});

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const { session } = context.get("view");
  if (session !== null && !may(session, "load_balancer:write")) return forbidden(context, []);
  const isNew = context.req.param("listener_id") === undefined;
  const [tab, certificates, listener] = await Promise.all([
    readTab(context, banner, form),
    readCertificates(context),
    isNew
      ? null
      : read(
          context.get("api").GET("/load-balancers/{load_balancer_id}/listeners/{listener_id}", {
            params: { path: listenerIds(context) },
          }),
        ),
  ]);
  return context.html(
    renderPage(<ListenerPage {...tab} listener={listener} certificates={certificates} />),
    status,
  );
}
