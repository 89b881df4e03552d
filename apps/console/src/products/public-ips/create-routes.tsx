import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { reachableFirst } from "../../reachable-first.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { CreatePublicIpPage } from "./create-page.tsx";

const fields = ["labels", "region", "version", "address", "ptr", "delete_with_server", "protect"] as const;

/** `/public-ips/new`: the form of an address, and its reservation. */
export function createPublicIpRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/public-ips/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "public_ip:create")) return forbidden(context, []);
    return show(context, null, null, 200);
  });

  routes.post("/public-ips/new", async (context) => {
    const values = postedValues(context, fields);
    const outcome = await attempt(
      context.get("api").POST("/public-ips", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          ...(values.region === "" ? {} : { region: values.region }),
          version: values.version === "6" ? 6 : 4,
          ...(values.address === "" ? {} : { address: values.address }),
          ...(values.ptr === "" ? {} : { ptr: values.ptr }),
          ...(values.delete_with_server === "" ? {} : { delete_with_server: true }),
          ...(values.protect === "" ? {} : { protection: { delete: true } }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/public-ips/${outcome.data.id}?notice=taken`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "address", values, {
      fields,
      conflicts: values.address === "" ? {} : { no_public_ip_available: "address" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return show(context, banner, form, status);
  });
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const catalog = await read(context.get("api").GET("/catalog"));
  return context.html(
    renderPage(
      <CreatePublicIpPage
        view={context.get("view")}
        regions={reachableFirst(catalog.regions)}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
