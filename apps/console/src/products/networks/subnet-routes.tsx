import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { addressStates } from "./address-table.tsx";
import { reservations } from "./reservation-resource.ts";
import { SubnetOverviewPage, SubnetSettingsPage } from "./show-subnet-page.tsx";
import { subnets } from "./subnet-resource.ts";

const fields = ["labels", "name", "address", "description"] as const;

/** One subnet: its addresses with its reservations, and its settings. */
export function subnetPageRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/networks/:network_id/subnets/:subnet_id";
  routes.get(page, (context) => showOverview(context, notice(context), null, 200));
  routes.get(`${page}/settings`, (context) => showSettings(context, notice(context), null, 200));
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get(`${page}/reservations`, (context) => context.redirect(pathOf(context), 303));
  changeRoutes(routes, subnets, {
    show: showSettings,
    changed: "changed",
    deleted: { pathOf: ({ req }) => `/networks/${req.param("network_id")}`, notice: "subnetDeleted" },
  });
  changeRoutes(routes, reservations, {
    show: showOverview,
    pathOf,
    formNamed: (form, { req }) => `${form}-${req.param("reservation_id")}`,
    changed: "reservationChanged",
    deleted: { pathOf, notice: "givenUp" },
  });

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
      errorPlaces: {
        fields,
        conflicts,
        said: { labels: labelErrorText(values.labels, context.get("view").messages) },
      },
    });
  });
}

function idsOf(context: ConsoleContext) {
  return {
    network_id: context.req.param("network_id") ?? "",
    subnet_id: context.req.param("subnet_id") ?? "",
  };
}

const options = (context: ConsoleContext) => ({
  params: { path: idsOf(context), header: { "Idempotency-Key": postedKey(context) } },
});

function pathOf(context: ConsoleContext): string {
  const { network_id, subnet_id } = idsOf(context);
  return `/networks/${network_id}/subnets/${subnet_id}`;
}

const notice = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.subnet.notices);

const answer = answersOf(pathOf, showOverview);

async function showOverview(
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
      <SubnetOverviewPage
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

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = idsOf(context);
  const [network, subnet] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path: { network_id: path.network_id } } })),
    read(api.GET("/networks/{network_id}/subnets/{subnet_id}", { params: { path } })),
  ]);
  return context.html(
    renderPage(
      <SubnetSettingsPage
        view={context.get("view")}
        network={network}
        subnet={subnet}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
