import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { postedKey } from "../../posted-form.ts";
import type { ActEnd } from "./operation-routes.ts";

type AfterAct = (
  context: ConsoleContext,
  id: string,
  act: string,
  end: ActEnd,
) => Response | Promise<Response>;

/** Firewalls on a server's own page: attach one to it, detach one that is attached to it by name. */
export function serverFirewallRoutes(routes: Hono<ConsoleEnv>, afterAct: AfterAct): void {
  routes.post("/servers/:server_id/attach-firewall", async (context) => {
    const id = context.req.param("server_id");
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/firewalls/{firewall_id}/attachments", {
        params: {
          path: { firewall_id: form.get("firewall_id") ?? "" },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { server_id: id },
      }),
    );
    return afterAct(context, id, "attach-firewall", { outcome, notice: "firewallAttached" });
  });

  routes.post("/servers/:server_id/detach-firewall", async (context) => {
    const id = context.req.param("server_id");
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").DELETE("/firewalls/{firewall_id}/attachments/{firewall_attachment_id}", {
        params: {
          path: {
            firewall_id: form.get("firewall_id") ?? "",
            firewall_attachment_id: form.get("attachment_id") ?? "",
          },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    return afterAct(context, id, "detach-firewall", { outcome, notice: "firewallDetached" });
  });
}
