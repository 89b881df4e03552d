import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, typedList } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readPlaces } from "../firewalls/places.ts";
import { answerQuestion } from "./reach-question.ts";
import { networks } from "./resource.ts";
import { NetworkPage } from "./show-page.tsx";
import { inAddressOrder } from "./subnet-order.ts";
import { subnetPageRoutes } from "./subnet-routes.tsx";

/** One network: its map, the forms that change it and its subnets, and the reachability check. */
export function networkPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/networks/:network_id", (context) => {
    const { notices } = context.get("view").messages.network;
    return show(context, noticeBanner(context, notices), null, 200);
  });
  subnetPageRoutes(routes);
  changeRoutes(routes, networks, {
    show,
    changed: "changed",
    deleted: { pathOf: () => "/networks", notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/networks/:network_id/*", (context) =>
    context.redirect(`/networks/${context.req.param("network_id")}`, 303),
  );

  routes.post("/networks/:network_id/subnets", async (context) => {
    const id = context.req.param("network_id");
    const form = context.get("form");
    // A page has several of these forms, so the names of the text fields contain the network's id.
    const values = {
      name: (form.get(`name-${id}`) ?? "").trim(),
      cidr: (form.get(`cidr-${id}`) ?? "").trim(),
      tier: form.get("tier") ?? "",
      dns_servers: (form.get("dns_servers") ?? "").trim(),
      labels: (form.get("labels") ?? "").trim(),
    };
    const dnsServers = typedList(values.dns_servers);
    const outcome = await attempt(
      context.get("api").POST("/networks/{network_id}/subnets", {
        ...options(context),
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
    return answer(context, {
      outcome,
      notice: "subnet",
      of: id,
      values,
      errorPlaces: {
        fields: ["labels", "name", "cidr", "tier", "dns_servers"],
        conflicts: { name_taken: "name", cidr_overlap: "cidr" },
        said: { labels: labelErrorText(values.labels, context.get("view").messages) },
      },
    });
  });
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { network_id: context.req.param("network_id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const answer = answersOf((context) => `/networks/${context.req.param("network_id")}`, show);

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = { network_id: context.req.param("network_id") ?? "" };
  const [network, subnets, gateways] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path } })),
    readAll((page) => api.GET("/networks/{network_id}/subnets", { params: { path, query: page } })),
    readAll((page) => api.GET("/gateways", { params: { query: page } })),
  ]);
  const [places, asked] = await Promise.all([
    readPlaces(context, network.region),
    answerQuestion(context, (body) => api.POST("/networks/{network_id}/explain", { params: { path }, body })),
  ]);
  return context.html(
    renderPage(
      <NetworkPage
        view={context.get("view")}
        network={network}
        subnets={inAddressOrder(subnets.items)}
        places={places}
        gateway={gateways.items.find(({ network_id }) => network_id === network.id) ?? null}
        asked={asked}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
