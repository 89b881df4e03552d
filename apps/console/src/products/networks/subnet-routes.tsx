import type { RequestBody } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, orGone } from "../../form-answer.ts";
import { postedLabel, saidOfLabels, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedList } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { addressStates } from "./address-table.tsx";
import { SubnetPage } from "./subnet-page.tsx";

const fields = ["labels", "name", "address", "description"] as const;

/** One subnet: its addresses, and which of them are kept. */
export function subnetPageRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/networks/:id/subnets/:subnet";
  routes.get(page, (context) => {
    const { notices } = context.get("view").messages.subnet;
    return show(context, noticeBanner(context, notices), null, 200);
  });
  // Where a refused form was sent to, asked for again: the page that it is on.
  for (const form of [
    "settings",
    "delete",
    "labels",
    "reservations",
    "reservations/:reservation/settings",
    "reservations/:reservation/labels",
  ])
    routes.get(`${page}/${form}`, (context) => context.redirect(pathOf(context), 303));

  routes.post(`${page}/reservations`, async (context) => {
    const values = postedValues(context, fields);
    const { address, description } = values;
    const outcome = await attempt(
      context.get("api").POST("/networks/{network_id}/subnets/{subnet_id}/reservations", {
        ...options(context),
        body: {
          name: values.name,
          ...(address === "" ? {} : { address }),
          ...(description === "" ? {} : { description }),
          ...typedLabels(values.labels),
        },
      }),
    );
    const conflicts = { name_taken: "name", address_in_use: "address", subnet_exhausted: "address" };
    return answer(context, {
      outcome,
      notice: "reserved",
      of: "reserve",
      values,
      beside: {
        fields,
        conflicts,
        said: { labels: saidOfLabels(values.labels, context.get("view").messages) },
      },
    });
  });

  routes.post(`${page}/reservations/:reservation/settings`, async (context) => {
    const values = postedValues(context, ["name", "description"]);
    return answer(context, {
      outcome: await changeReservation(context, values),
      notice: "reservationChanged",
      of: `settings-${context.req.param("reservation")}`,
      values,
      beside: { fields: ["name", "description"], conflicts: { name_taken: "name" } },
    });
  });

  routes.post(`${page}/reservations/:reservation/labels`, async (context) => {
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await changeReservation(context, { labels });
    return answer(context, {
      outcome,
      notice,
      of: `labels-${context.req.param("reservation")}`,
      values,
      beside,
    });
  });

  routes.post(`${page}/settings`, async (context) => {
    const values = postedValues(context, ["name", "dns_servers"]);
    const outcome = await attempt(
      context.get("api").PATCH("/networks/{network_id}/subnets/{subnet_id}", {
        ...options(context),
        body: { name: values.name, dns_servers: typedList(values.dns_servers) },
      }),
    );
    return answer(context, {
      outcome,
      notice: "changed",
      of: "settings",
      values,
      beside: { fields: ["name", "dns_servers"], conflicts: { name_taken: "name" } },
    });
  });

  routes.post(`${page}/delete`, async (context) => {
    const values = postedValues(context, ["confirm_name"]);
    const api = context.get("api");
    const path = idsOf(context);
    const { name } = await read(api.GET("/networks/{network_id}/subnets/{subnet_id}", { params: { path } }));
    if (values.confirm_name !== name) {
      const problems = { confirm_name: [context.get("view").messages.network.confirmMismatch] };
      return show(context, null, { of: "delete", values, problems }, 422);
    }
    const outcome = await attempt(api.DELETE("/networks/{network_id}/subnets/{subnet_id}", options(context)));
    if (outcome.kind === "done")
      return context.redirect(`/networks/${path.network_id}?notice=subnetDeleted`, 303);
    return answer(context, {
      outcome,
      notice: "",
      of: "delete",
      values,
      beside: { everything: "confirm_name" },
    });
  });

  routes.post(`${page}/labels`, async (context) => {
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await attempt(
      context.get("api").PATCH("/networks/{network_id}/subnets/{subnet_id}", {
        ...options(context),
        body: { labels },
      }),
    );
    return answer(context, { outcome, notice, of: "labels", values, beside });
  });

  routes.post(`${page}/reservations/:reservation/delete`, async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/networks/{network_id}/subnets/{subnet_id}/reservations/{reservation_id}", {
        params: {
          path: { ...idsOf(context), reservation_id: context.req.param("reservation") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    return answer(context, { outcome: orGone(outcome), notice: "givenUp", of: "giveUp" });
  });
}

function idsOf(context: ConsoleContext) {
  return { network_id: context.req.param("id") ?? "", subnet_id: context.req.param("subnet") ?? "" };
}

const options = (context: ConsoleContext) => ({
  params: { path: idsOf(context), header: { "Idempotency-Key": postedKey(context) } },
});

function changeReservation(context: ConsoleContext, body: RequestBody<"updateReservation">) {
  const path = { ...idsOf(context), reservation_id: context.req.param("reservation") ?? "" };
  return attempt(
    context.get("api").PATCH("/networks/{network_id}/subnets/{subnet_id}/reservations/{reservation_id}", {
      params: { path, header: { "Idempotency-Key": postedKey(context) } },
      body,
    }),
  );
}

function pathOf(context: ConsoleContext): string {
  const { network_id, subnet_id } = idsOf(context);
  return `/networks/${network_id}/subnets/${subnet_id}`;
}

const answer = answersOf(pathOf, show);

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = idsOf(context);
  const wanted = context.req.query("state");
  const state = addressStates.find((each) => each === wanted) ?? "";
  const cursor = context.req.query("cursor") || undefined;
  const [network, subnet, reservations, addresses] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path: { network_id: path.network_id } } })),
    read(api.GET("/networks/{network_id}/subnets/{subnet_id}", { params: { path } })),
    readAll((page) =>
      api.GET("/networks/{network_id}/subnets/{subnet_id}/reservations", { params: { path, query: page } }),
    ),
    read(
      api.GET("/networks/{network_id}/subnets/{subnet_id}/addresses", {
        params: {
          path,
          query: {
            limit: 50,
            ...(state === "" ? {} : { state }),
            ...(cursor === undefined ? {} : { cursor }),
          },
        },
      }),
    ),
  ]);
  return context.html(
    renderPage(
      <SubnetPage
        view={context.get("view")}
        network={network}
        subnet={subnet}
        reservations={reservations.items}
        addresses={addresses}
        state={state}
        cursor={cursor}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
