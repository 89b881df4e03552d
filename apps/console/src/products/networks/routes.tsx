import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { NetworksPage } from "./list-page.tsx";
import { networks } from "./resource.ts";
import { selectedNetworks } from "./selected.tsx";
import { networkPageRoutes } from "./show-routes.tsx";
import { inAddressOrder } from "./subnet-order.ts";

const createFields = ["labels", "name", "region", "cidr", "description"] as const;

export function networkRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/networks", (context) => {
    const { notices } = context.get("view").messages.networks;
    return showNetworks(context, noticeBanner(context, notices), null, 200);
  });

  routes.post("/networks", async (context) => {
    const values = postedValues(context, createFields);
    const outcome = await attempt(
      context.get("api").POST("/networks", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          ...(values.region === "" ? {} : { region: values.region }),
          ...(values.cidr === "" ? {} : { cidr: values.cidr }),
          ...(values.description === "" ? {} : { description: values.description }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/networks/${outcome.data.network.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "network", values, {
      fields: createFields,
      conflicts: { name_taken: "name", cidr_overlap: "cidr" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return showNetworks(context, banner, form, status);
  });

  routes.route("/", selectedRoutes(selectedNetworks));
  networkPageRoutes(routes);

  return routes;
}

async function showNetworks(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const [listed, catalog] = await Promise.all([readList(context, networks), read(api.GET("/catalog"))]);
  const { list: found, ...listing } = listed;
  const subnets = await Promise.all(
    found.items.map(async ({ id }) => {
      const { items } = await readAll((page) =>
        api.GET("/networks/{network_id}/subnets", { params: { path: { network_id: id }, query: page } }),
      );
      return [id, inAddressOrder(items)] as const;
    }),
  );
  return context.html(
    renderPage(
      <NetworksPage
        view={view}
        networks={found}
        subnets={new Map(subnets)}
        regions={catalog.regions}
        {...listing}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
