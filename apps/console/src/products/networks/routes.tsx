import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { saidOfLabels, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { askedList, nameSorts, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { selectedRoutes } from "../selected/selected-routes.tsx";
import { NetworksPage, networkFilters } from "./list-page.tsx";
import { networkPageRoutes } from "./network-routes.tsx";
import { selectedNetworks } from "./selected-networks.tsx";
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
      said: { labels: saidOfLabels(values.labels, context.get("view").messages) },
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
  const query = readListQuery(new URL(context.req.url).searchParams, networkFilters, nameSorts);
  const [listed, catalog] = await Promise.all([
    attempt(api.GET("/networks", { params: { query: askedList(query, rowsOf(view.lists, "networks")) } })),
    read(api.GET("/catalog")),
  ]);
  const { list: networks, selectorProblem } = narrowedList(listed, view.messages);
  const subnets = await Promise.all(
    networks.items.map(async ({ id }) => {
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
        networks={networks}
        subnets={new Map(subnets)}
        regions={catalog.regions}
        query={query}
        selectorProblem={selectorProblem}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
