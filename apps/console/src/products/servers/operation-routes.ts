import type { RequestBody } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, type Outcome } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";

type AfterAct = (
  context: ConsoleContext,
  id: string,
  outcome: Outcome<unknown>,
  notice: string,
) => Response | Promise<Response>;

/** What the forms of a server's page ask for, each one call of the API. */
export function operationRoutes(
  routes: Hono<ConsoleEnv>,
  { cookies }: ConsoleServices,
  afterAct: AfterAct,
): void {
  const act = (
    path: string,
    work: (context: ConsoleContext, form: URLSearchParams, id: string) => Promise<[Outcome<unknown>, string]>,
  ) => {
    routes.post(`/servers/:id/${path}`, async (context) => {
      const id = context.req.param("id");
      const [outcome, notice] = await work(context, context.get("form"), id);
      return afterAct(context, id, outcome, notice);
    });
  };

  act("power", async (context, form, id) => {
    const action = form.get("action") as RequestBody<"powerServer">["action"];
    const body = { action, ...(form.get("force_after") === "true" ? { force_after: true } : {}) };
    return [
      await attempt(context.get("api").POST("/servers/{server_id}/power", { ...options(context, id), body })),
      "power",
    ];
  });

  act("resize", async (context, form, id) => {
    const body = {
      package: form.get("package") ?? "",
      // The page says what a restart means, and the button names it.
      allow_restart: true,
      grow_disk: form.get("keep_disk") !== "true",
    };
    const api = context.get("api");
    const { data: server } = await api.GET("/servers/{server_id}", { params: { path: { server_id: id } } });
    const { data: catalog } = await api.GET("/catalog");
    const wanted = catalog?.packages.find(({ slug }) => slug === body.package);
    // The card of a smaller package says that the larger disk is kept.
    if (wanted !== undefined && server !== undefined && wanted.disk_gb < server.disk_gb)
      body.grow_disk = false;
    return [
      await attempt(api.POST("/servers/{server_id}/resize", { ...options(context, id), body })),
      "resized",
    ];
  });

  act("rename", async (context, form, id) => [
    await attempt(
      context.get("api").PATCH("/servers/{server_id}", {
        ...options(context, id),
        body: { name: (form.get("name") ?? "").trim() },
      }),
    ),
    "renamed",
  ]);

  act("password-reset", async (context, form, id) => {
    const when = form.get("when") === "next_boot" ? ("next_boot" as const) : ("now" as const);
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/password-reset", {
        ...options(context, id),
        body: { when },
      }),
    );
    if (outcome.kind === "done" && "password" in outcome.data && outcome.data.password != null)
      await cookies.writeOnce(context, id, outcome.data.password);
    return [outcome, "password"];
  });

  act("rebuild", async (context, form, id) => {
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/rebuild", {
        ...options(context, id),
        body: {
          image: form.get("image") ?? "",
          confirm_name: (form.get("confirm_name") ?? "").trim(),
        },
      }),
    );
    if (
      outcome.kind === "done" &&
      "console_password" in outcome.data &&
      outcome.data.console_password != null
    )
      await cookies.writeOnce(context, id, outcome.data.console_password);
    return [outcome, "rebuilding"];
  });

  act("purge", async (context, _form, id) => {
    const { params } = options(context, id);
    const call = context
      .get("api")
      .DELETE("/servers/{server_id}", { params: { ...params, query: { purge: true } } });
    return [await attempt(call), "purged"];
  });
}

function options(context: ConsoleContext, id: string) {
  return {
    params: {
      path: { server_id: id },
      header: { "Idempotency-Key": context.get("form").get("idempotency_key") || crypto.randomUUID() },
    },
  };
}
