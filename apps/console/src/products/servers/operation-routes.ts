import type { RequestBody } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { orGone } from "../../form-answer.ts";
import { postedLabel } from "../../label-form.ts";
import { typedNumber } from "../../posted-form.ts";
import type { Beside } from "../../refused-form.ts";
import { packPassword } from "./password-once.ts";
import { requestOptions } from "./request-options.ts";

/** How an act ended, and what its page says next. */
export type ActEnd = {
  readonly notice: string;
  readonly beside?: Beside;
} & (
  | {
      readonly outcome: Outcome<unknown>;
      /** A secret was in the answer the first time, and this is a repeat of it. */
      readonly isWithheld?: boolean;
    }
  /** Nothing was asked for: the name that confirms it was not typed. */
  | { readonly outcome: "unconfirmed" }
);

type AfterAct = (
  context: ConsoleContext,
  id: string,
  act: string,
  end: ActEnd,
) => Response | Promise<Response>;
type Work = (context: ConsoleContext, form: URLSearchParams, id: string) => Promise<ActEnd>;

/** What the forms of a server's page ask for, each one call of the API. */
export function operationRoutes(
  routes: Hono<ConsoleEnv>,
  { cookies }: ConsoleServices,
  afterAct: AfterAct,
): void {
  const act = (path: string, work: Work) => {
    routes.post(`/servers/:id/${path}`, async (context) => {
      const id = context.req.param("id");
      return afterAct(context, id, path, await work(context, context.get("form"), id));
    });
    // Where a form that came back leaves the address: loading that again leads to the page.
    routes.get(`/servers/:id/${path}`, (context) =>
      context.redirect(`/servers/${context.req.param("id")}`, 303),
    );
  };

  act("power", async (context, form, id) => {
    const action = form.get("action") as RequestBody<"powerServer">["action"];
    const timeout = form.get("timeout_seconds") ?? "";
    const body = {
      action,
      ...(timeout === "" ? {} : { timeout_seconds: typedNumber(timeout) }),
      ...(form.get("force_after") === "true" ? { force_after: true } : {}),
    };
    const call = context
      .get("api")
      .POST("/servers/{server_id}/power", { ...requestOptions(context, id), body });
    return { outcome: await attempt(call), notice: "power" };
  });

  act("rename", async (context, form, id) => {
    const call = context.get("api").PATCH("/servers/{server_id}", {
      ...requestOptions(context, id),
      body: { name: (form.get("name") ?? "").trim() },
    });
    return {
      outcome: await attempt(call),
      notice: "renamed",
      beside: { fields: ["name"], conflicts: { name_taken: "name", invalid_state: "name" } },
    };
  });

  act("labels", async (context, _form, id) => {
    const { labels, notice, beside } = postedLabel(context);
    const call = context
      .get("api")
      .PATCH("/servers/{server_id}", { ...requestOptions(context, id), body: { labels } });
    return { outcome: await attempt(call), notice, beside };
  });

  act("protection", async (context, form, id) => {
    const isOn = form.get("protect") === "true";
    const of = form.get("of") === "rebuild" ? "rebuild" : "delete";
    const call = context.get("api").PATCH("/servers/{server_id}", {
      ...requestOptions(context, id),
      body: { protection: { [of]: isOn } },
    });
    return { outcome: await attempt(call), notice: isOn ? "protected" : "unprotected" };
  });

  act("password-reset", async (context, form, id) => {
    const when = form.get("when") === "next_boot" ? ("next_boot" as const) : ("now" as const);
    const username = (form.get("username") ?? "").trim();
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/password-reset", {
        ...requestOptions(context, id),
        body: { when, ...(username === "" ? {} : { username }) },
      }),
    );
    const secret = outcome.kind === "done" && "password" in outcome.data ? outcome.data.password : null;
    return {
      outcome,
      notice: "password",
      beside: { fields: ["username"] },
      isWithheld: !(await passOn(context, id, outcome, secret, username === "" ? null : username)),
    };
  });

  act("rebuild", async (context, form, id) => {
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/rebuild", {
        ...requestOptions(context, id),
        body: {
          image: form.get("image") ?? "",
          confirm_name: (form.get("confirm_name") ?? "").trim(),
          ...(form.get("keys") === "chosen" ? { ssh_key_ids: form.getAll("ssh_key_ids") } : {}),
        },
      }),
    );
    const secret =
      outcome.kind === "done" && "console_password" in outcome.data ? outcome.data.console_password : null;
    return {
      outcome,
      notice: "rebuilding",
      beside: { fields: ["confirm_name", "image", "ssh_key_ids"] },
      isWithheld: !(await passOn(context, id, outcome, secret)),
    };
  });

  act("delete", async (context, form, id) => {
    if (!(await isConfirmed(context, form, id))) return { outcome: "unconfirmed", notice: "deleted" };
    const call = context.get("api").DELETE("/servers/{server_id}", requestOptions(context, id));
    return { outcome: await attempt(call), notice: "deleted" };
  });

  act("end-console", async (context, form, id) => {
    const { params } = requestOptions(context, id);
    const outcome = await attempt(
      context.get("api").DELETE("/servers/{server_id}/console-sessions/{session_id}", {
        params: { ...params, path: { ...params.path, session_id: form.get("session_id") ?? "" } },
      }),
    );
    return { outcome: orGone(outcome), notice: "consoleEnded" };
  });

  act("cancel-deletion", async (context, _form, id) => {
    const call = context.get("api").POST("/servers/{server_id}/cancel-deletion", requestOptions(context, id));
    return { outcome: await attempt(call), notice: "restored" };
  });

  act("purge", async (context, form, id) => {
    if (!(await isConfirmed(context, form, id))) return { outcome: "unconfirmed", notice: "purged" };
    const { params } = requestOptions(context, id);
    const call = context
      .get("api")
      .DELETE("/servers/{server_id}", { params: { ...params, query: { purge: true } } });
    return { outcome: await attempt(call), notice: "purged" };
  });

  /** The secret to the page that comes next; false when the answer was a repeat and holds none. */
  async function passOn(
    context: ConsoleContext,
    id: string,
    outcome: Outcome<object>,
    secret: string | null | undefined,
    user: string | null = null,
  ): Promise<boolean> {
    if (secret != null) await cookies.writeOnce(context, id, packPassword({ user, password: secret }));
    return !(
      outcome.kind === "done" &&
      "secret_withheld" in outcome.data &&
      outcome.data.secret_withheld === true
    );
  }
}

async function isConfirmed(context: ConsoleContext, form: URLSearchParams, id: string): Promise<boolean> {
  const server = await read(
    context.get("api").GET("/servers/{server_id}", { params: { path: { server_id: id } } }),
  );
  return (form.get("confirm_name") ?? "").trim() === server.name;
}
