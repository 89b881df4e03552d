import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { postedLabel, saidOfLabels, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedList } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { readPlaces } from "../firewalls/places.ts";
import { answerQuestion } from "./reach-question.ts";
import { NetworkPage } from "./show-page.tsx";
import { inAddressOrder } from "./subnet-order.ts";
import { subnetPageRoutes } from "./subnet-routes.tsx";

/** One network: its map, what can be changed of it and of its subnets, and who reaches whom. */
export function networkPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/networks/:id", (context) => {
    const { notices } = context.get("view").messages.network;
    return show(context, noticeBanner(context, notices), null, 200);
  });
  subnetPageRoutes(routes);
  // Where a refused form was sent to, asked for again: the page that it is on.
  routes.get("/networks/:id/*", (context) => context.redirect(`/networks/${context.req.param("id")}`, 303));

  routes.post("/networks/:id/subnets", async (context) => {
    const id = context.req.param("id");
    const form = context.get("form");
    // Several of these forms are on one page, so the text fields carry the network's id in their names.
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
        // The API judges the tier too: what is not one of them comes back as a field error.
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
      beside: {
        fields: ["labels", "name", "cidr", "tier", "dns_servers"],
        conflicts: { name_taken: "name", cidr_overlap: "cidr" },
        said: { labels: saidOfLabels(values.labels, context.get("view").messages) },
      },
    });
  });

  routes.post("/networks/:id/settings", async (context) => {
    const values = postedValues(context, ["name", "description"]);
    const outcome = await attempt(
      context.get("api").PATCH("/networks/{network_id}", { ...options(context), body: values }),
    );
    return answer(context, {
      outcome,
      notice: "changed",
      of: "settings",
      values,
      beside: {
        fields: ["name", "description"],
        conflicts: { name_taken: "name" },
      },
    });
  });

  routes.post("/networks/:id/labels", async (context) => {
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await attempt(
      context.get("api").PATCH("/networks/{network_id}", { ...options(context), body: { labels } }),
    );
    return answer(context, { outcome, notice, of: "labels", values, beside });
  });

  routes.post("/networks/:id/delete", async (context) => {
    const values = postedValues(context, ["confirm_name"]);
    const api = context.get("api");
    const { params } = options(context);
    const network = await read(api.GET("/networks/{network_id}", { params: { path: params.path } }));
    if (values.confirm_name !== network.name) return unconfirmed(context, "delete", values);
    const outcome = await attempt(api.DELETE("/networks/{network_id}", { params }));
    if (outcome.kind === "done") return context.redirect("/networks?notice=deleted", 303);
    return answer(context, {
      outcome,
      notice: "deleted",
      of: "delete",
      values,
      beside: { everything: "confirm_name" },
    });
  });
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { network_id: context.req.param("id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

function unconfirmed(context: ConsoleContext, of: string, values: Readonly<Record<string, string>>) {
  const problems = { confirm_name: [context.get("view").messages.network.confirmMismatch] };
  return show(context, null, { of, values, problems }, 422);
}

const answer = answersOf((context) => `/networks/${context.req.param("id")}`, show);

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = { network_id: context.req.param("id") ?? "" };
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
