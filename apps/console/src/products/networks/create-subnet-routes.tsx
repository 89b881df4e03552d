import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedList } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { CreateSubnetPage } from "./create-subnet-page.tsx";

const fields = ["labels", "name", "cidr", "tier", "dns_servers"] as const;

/** `/networks/:network_id/subnets/new`: the form of a subnet, and its creation. */
export function createSubnetRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/networks/:network_id/subnets/new";
  routes.get(page, (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "network:create")) return forbidden(context, []);
    return show(context, null, null, 200);
  });

  routes.post(page, async (context) => {
    const network_id = context.req.param("network_id");
    const values = postedValues(context, fields);
    const dnsServers = typedList(values.dns_servers);
    const outcome = await attempt(
      context.get("api").POST("/networks/{network_id}/subnets", {
        params: { path: { network_id }, header: { "Idempotency-Key": postedKey(context) } },
        // The API validates the tier too: an unknown one is a field error.
        body: {
          name: values.name,
          tier: values.tier as "app",
          ...(values.cidr === "" ? {} : { cidr: values.cidr }),
          ...(dnsServers.length === 0 ? {} : { dns_servers: dnsServers }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(
        `/networks/${network_id}/subnets/${outcome.data.subnet.id}?notice=created`,
        303,
      );
    const { form, banner, status } = refuseForm(context, outcome, "subnet", values, {
      fields,
      conflicts: { name_taken: "name", cidr_overlap: "cidr" },
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
  const path = { network_id: context.req.param("network_id") ?? "" };
  const network = await read(context.get("api").GET("/networks/{network_id}", { params: { path } }));
  return context.html(
    renderPage(
      <CreateSubnetPage
        view={context.get("view")}
        network={network}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
