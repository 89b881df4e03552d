import type { Hono } from "hono";
import { attempt, type Outcome } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { postedKey } from "../../posted-form.ts";
import type { ActEnd } from "./operation-routes.ts";

type AfterAct = (
  context: ConsoleContext,
  id: string,
  act: string,
  end: ActEnd,
) => Response | Promise<Response>;

/** Public addresses on a server's own page: attach a free one, reserve a new one, release one. */
export function addressRoutes(routes: Hono<ConsoleEnv>, afterAct: AfterAct): void {
  routes.post("/servers/:server_id/attach-address", async (context) => {
    const id = context.req.param("server_id");
    const outcome = await attach(context, id, context.get("form").get("public_ip_id") ?? "");
    return afterAct(context, id, "attach-address", { outcome, notice: "attaching" });
  });

  // Two calls. When the second is refused, the address stays reserved for the organisation, and free to attach.
  routes.post("/servers/:server_id/take-address", async (context) => {
    const id = context.req.param("server_id");
    const form = context.get("form");
    const api = context.get("api");
    const server = await attempt(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } }));
    const taken =
      server.kind === "done"
        ? await attempt(
            api.POST("/public-ips", {
              params: { header: { "Idempotency-Key": postedKey(context) } },
              body: { region: server.data.region, version: form.get("version") === "6" ? 6 : 4 },
            }),
          )
        : server;
    const outcome = taken.kind === "done" ? await attach(context, id, taken.data.id) : taken;
    return afterAct(context, id, "take-address", { outcome, notice: "attaching" });
  });

  routes.post("/servers/:server_id/detach-address", async (context) => {
    const id = context.req.param("server_id");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", {
        params: {
          path: { public_ip_id: context.get("form").get("public_ip_id") ?? "" },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    return afterAct(context, id, "detach-address", { outcome, notice: "detaching" });
  });
}

function attach(context: ConsoleContext, id: string, publicIpId: string): Promise<Outcome<unknown>> {
  return attempt(
    context.get("api").POST("/public-ips/{public_ip_id}/attach", {
      params: {
        path: { public_ip_id: publicIpId },
        header: { "Idempotency-Key": `${postedKey(context)}-attach` },
      },
      body: { server_id: id },
    }),
  );
}
