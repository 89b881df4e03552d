import type { RequestBody } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { doneIfAbsent } from "../../form-answer.ts";
import { typedNumber } from "../../posted-form.ts";
import type { ErrorPlaces } from "../../refused-form.ts";
import { packPassword } from "./password-once.ts";
import { requestOptions } from "./request-options.ts";

/** The result of an action, and the notice of its page. */
export type ActEnd = {
  readonly notice: string;
  readonly errorPlaces?: ErrorPlaces;
} & (
  | {
      readonly outcome: Outcome<unknown>;
      /** The first answer contained a secret, and this is a repeat of it. */
      readonly isWithheld?: boolean;
    }
  /** No call was made: the confirmation did not match the name. */
  | { readonly outcome: "unconfirmed" }
);

type AfterAct = (
  context: ConsoleContext,
  id: string,
  act: string,
  end: ActEnd,
) => Response | Promise<Response>;
type Work = (context: ConsoleContext, form: URLSearchParams, id: string) => Promise<ActEnd>;

/** The actions of the forms on a server's page, each one call of the API. */
export function operationRoutes(
  routes: Hono<ConsoleEnv>,
  { cookies }: ConsoleServices,
  afterAct: AfterAct,
): void {
  const act = (path: string, work: Work) => {
    routes.post(`/servers/:server_id/${path}`, async (context) => {
      const id = context.req.param("server_id");
      return afterAct(context, id, path, await work(context, context.get("form"), id));
    });
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
      errorPlaces: { fields: ["username"] },
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
      errorPlaces: { fields: ["confirm_name", "image", "ssh_key_ids"] },
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
    return { outcome: doneIfAbsent(outcome), notice: "consoleEnded" };
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

  /** Passes the secret to the next page; false when the answer was a repeat and contains none. */
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
