import type { Hono } from "hono";
import { attempt, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { CreatePoolPage } from "./create-page.tsx";

const fields = ["region", "name", "description", "gateway", "prefix_length", "vlan", "reverse_name"] as const;

/** `/ip-pools/new`: the form of a pool, and its creation. */
export function createIpPoolRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/ip-pools/new", (context) => show(context, null, null, 200));

  routes.post("/ip-pools/new", async (context) => {
    const values = postedValues(context, fields);
    const outcome = await attempt(
      context.get("api").POST("/ip-pools", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          region: values.region,
          name: values.name,
          ...(values.description === "" ? {} : { description: values.description }),
          gateway: values.gateway,
          prefix_length: typedNumber(values.prefix_length),
          ...(values.vlan === "" ? {} : { vlan: typedNumber(values.vlan) }),
          ...(values.reverse_name === "" ? {} : { reverse_name: values.reverse_name }),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/ip-pools/${outcome.data.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "pool", values, {
      fields,
      conflicts: { name_taken: "name" },
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
  // The API refuses everybody but operators.
  const regions = await readAll((page) => context.get("api").GET("/regions", { params: { query: page } }));
  return context.html(
    renderPage(
      <CreatePoolPage
        view={context.get("view")}
        regions={regions.items}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
