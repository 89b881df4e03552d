import type { Hono } from "hono";
import { attempt } from "../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../console-context.ts";
import { answersOf, doneIfAbsent, type ShowForm } from "../form-answer.ts";
import { postedLabel } from "../label-form.ts";
import { postedKey, postedValues } from "../posted-form.ts";
import { callOperation, readItem } from "./call-operation.ts";
import { type AnyItem, filledPath, pageRoute, type Resource } from "./resource.ts";

/** The page that contains the forms of a resource. */
export type FormPage = {
  readonly show: ShowForm;
  /** Its address; the resource's settings unless set, or its page if it has no tabs. */
  pathOf?(context: ConsoleContext): string;
  /** The key of a form on a page with the forms of several resources. */
  formNamed?(form: "settings" | "labels", context: ConsoleContext): string;
  /** The name of the notice after changed settings. */
  readonly changed: string;
  /** The redirect after deletion, and its notice; left out where the product handles deletion itself. */
  readonly deleted?: { pathOf(context: ConsoleContext): string; readonly notice: string };
};

/**
 * The routes of the forms that every resource has: settings, labels and deletion. Each is one call of the API. A
 * refused form is shown again on its page.
 */
export function changeRoutes<Item extends AnyItem>(
  routes: Hono<ConsoleEnv>,
  resource: Resource<Item>,
  page: FormPage,
): void {
  const { operations, settings } = resource;
  const route = pageRoute(resource);
  const idsIn = (context: ConsoleContext) => context.req.param() as Readonly<Record<string, string>>;
  const isTab = resource.tabs !== undefined;
  const pathOf = (context: ConsoleContext) =>
    page.pathOf?.(context) ?? `${filledPath(resource, idsIn(context))}${isTab ? "/settings" : ""}`;
  const named = (form: "settings" | "labels", context: ConsoleContext) =>
    page.formNamed?.(form, context) ?? form;
  const answer = answersOf(pathOf, page.show);
  const update = (context: ConsoleContext, body: object) =>
    attempt(
      callOperation(
        context.get("api"),
        { operation: operations.update, path: idsIn(context), body },
        postedKey(context),
      ),
    );

  const { deleted } = page;
  const forms = [
    // A resource with tabs has a page at this address.
    ...(isTab ? [] : ["settings"]),
    ...(resource.hasLabels ? ["labels"] : []),
    ...(deleted === undefined ? [] : ["delete"]),
  ];
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const form of forms)
    routes.get(`${route}/${form}`, (context) => context.redirect(pathOf(context), 303));

  routes.post(`${route}/settings`, async (context) => {
    const form = context.get("form");
    const typed = postedValues(context, settings.fields);
    const { bodyOf, fields, conflicts } = settings;
    return answer(context, {
      outcome: await update(context, bodyOf === undefined ? typed : bodyOf(form)),
      notice: page.changed,
      of: named("settings", context),
      values: bodyOf === undefined ? typed : Object.fromEntries(form),
      errorPlaces: { fields, conflicts },
    });
  });

  if (resource.hasLabels)
    routes.post(`${route}/labels`, async (context) => {
      const { labels, notice, values, errorPlaces } = postedLabel(context);
      const outcome = await update(context, { labels });
      return answer(context, { outcome, notice, of: named("labels", context), values, errorPlaces });
    });

  if (deleted === undefined) return;
  routes.post(`${route}/delete`, async (context) => {
    const api = context.get("api");
    const path = idsIn(context);
    const values = postedValues(context, ["confirm_name"]);
    if (resource.isDeleteConfirmed) {
      const item = await readItem(api, resource, path);
      if (values.confirm_name !== resource.nameOf(item)) {
        const problems = { confirm_name: [context.get("view").messages.common.confirmMismatch] };
        return page.show(context, null, { of: "delete", values, problems }, 422);
      }
    }
    const outcome = doneIfAbsent(
      await attempt(callOperation(api, { operation: operations.delete, path }, postedKey(context))),
    );
    if (outcome.kind === "done")
      return context.redirect(`${deleted.pathOf(context)}?notice=${deleted.notice}`, 303);
    return answer(context, {
      outcome,
      notice: deleted.notice,
      of: "delete",
      values,
      errorPlaces: resource.isDeleteConfirmed ? { everything: "confirm_name" } : {},
    });
  });
}
