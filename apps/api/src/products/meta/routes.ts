import { openapi } from "@kule/contract/generated/openapi";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { readinessOf } from "./readiness.ts";
import { referencePage, referencePolicy, referenceScript, referenceStyle } from "./reference-page.ts";

const version = "0.1.0";

/** Discovery and health of the API itself. */
export function mountMeta(api: Api): void {
  operation(api, "getApiIndex", {
    handle: async ({ deps }) => {
      const root = deps.settings.publicUrl;
      const links = {
        self: `${root}/`,
        openapi: `${root}/openapi.json`,
        reference: `${root}/docs`,
        me: `${root}/me`,
        catalog: `${root}/catalog`,
      };
      return reply(
        200,
        { name: "Kule", version, links },
        { Link: `<${root}/openapi.json>; rel="service-desc"` },
      );
    },
  });
  operation(api, "getOpenapi", {
    handle: async () => reply(200, openapi, { "Cache-Control": "public, max-age=300" }),
  });
  operation(api, "getReference", {
    handle: async () => asset(referencePage, "text/html; charset=utf-8"),
  });
  operation(api, "getReferenceScript", {
    handle: async () => asset(referenceScript(), "text/javascript; charset=utf-8"),
  });
  operation(api, "getReferenceStyle", {
    handle: async () => asset(referenceStyle(), "text/css; charset=utf-8"),
  });
  operation(api, "getHealth", { handle: async () => reply(200, { status: "ok" }) });
  operation(api, "getReadiness", { handle: async (request) => reply(200, await readinessOf(request)) });
}

function asset(text: string, type: string): Response {
  return new Response(text, {
    headers: {
      "Content-Type": type,
      "Cache-Control": "public, max-age=300",
      "Content-Security-Policy": referencePolicy,
    },
  });
}
