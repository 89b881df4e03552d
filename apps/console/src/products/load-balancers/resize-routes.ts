import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, type ShowForm } from "../../form-answer.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { BalancerTabProps, SettingsProps } from "./props.ts";
import { balancerIds, balancerPage, changeOptions } from "./read-tab.ts";

const settingsPage = (context: ConsoleContext): string => `${balancerPage(context)}/settings`;

/** The form for another package, on the settings tab, and its requests while a person chooses. */
export function resizeRoutes(routes: Hono<ConsoleEnv>, show: ShowForm): void {
  const page = "/load-balancers/:load_balancer_id/resize";
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get(page, (context) => context.redirect(settingsPage(context), 303));
  routes.post(`${page}/preview`, (context) => show(context, null, null, 200));
  routes.post(page, async (context) => {
    const chosen = context.get("form").get("package") ?? "";
    const outcome = await attempt(
      context.get("api").POST("/load-balancers/{load_balancer_id}/resize", {
        params: changeOptions(context),
        body: { package: chosen },
      }),
    );
    return answersOf(settingsPage, show)(context, {
      outcome,
      notice: "resizing",
      of: "resize",
      values: { package: chosen },
      errorPlaces: { everything: "package" },
    });
  });
}

/** What the form shows: the chosen package, and whether the load balancer can be resized to it now. */
export async function readResize(
  context: ConsoleContext,
  { view, balancer }: BalancerTabProps,
  form: RefusedForm | null,
): Promise<Pick<SettingsProps, "catalog" | "resize">> {
  const api = context.get("api");
  const chosen = context.req.path.includes("/resize")
    ? (context.get("form").get("package") ?? balancer.package)
    : balancer.package;
  // What has failed goes on with the same package.
  const changesNothing = chosen === balancer.package && balancer.status_reason?.code !== "resize_failed";
  const isChecked =
    !changesNothing && form?.of !== "resize" && disabledReason(view, balancer, "resize") === null;
  const [catalog, outcome] = await Promise.all([
    read(api.GET("/catalog")),
    isChecked
      ? attempt(
          api.POST("/load-balancers/{load_balancer_id}/resize", {
            params: { path: balancerIds(context), query: { dry_run: true } },
            body: { package: chosen },
          }),
        )
      : null,
  ]);
  const check =
    outcome === null
      ? "unchecked"
      : outcome.kind === "done"
        ? // The answer of a dry run.
          (outcome.data as unknown as Exclude<SettingsProps["resize"]["check"], string>)
        : outcome.kind;
  return { catalog, resize: { package: chosen, changesNothing, check } };
}
