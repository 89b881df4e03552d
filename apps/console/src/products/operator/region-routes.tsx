import { Hono } from "hono";
import { attempt, type Outcome, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { RegionPage } from "./change-region-page.tsx";
import { RegionCreatePage } from "./create-region-page.tsx";
import {
  defaultRegionValues,
  type RegionValues,
  regionErrorFields,
  regionFields,
  toCreateBody,
  toUpdateBody,
} from "./region-values.ts";

/** `/operator/regions`: registers regions, mints their tokens, and changes them. */
export function regionRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/new", (context) => showCreate(context, defaultRegionValues, null, null, 200));

  routes.post("/new", async (context) => {
    const values = postedValues(context, regionFields);
    const restrictedTo = context.get("form").getAll("restricted_to");
    const outcome = await attempt(
      context.get("api").POST("/regions", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: toCreateBody(values, restrictedTo),
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/operator/regions/${outcome.data.slug}?notice=created`, 303);
    const typed = { ...values, restricted_to: restrictedTo.join(" ") };
    const { form, banner, status } = refuseForm(context, outcome, "create", typed, regionErrorFields);
    return showCreate(context, values, form, banner, status);
  });

  routes.get("/:region", async (context) => {
    const banner = noticeBanner(context, context.get("view").messages.regionAdmin.notices);
    const secret = await cookies.takeOnce(context, subjectOf(context));
    const enrolment = await cookies.takeOnce(context, enrolmentOf(context));
    return showRegion(context, banner, null, 200, secret, enrolment);
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/:region/*", (context) => context.redirect(`/operator/regions/${regionOf(context)}`, 303));

  routes.post("/:region/settings", async (context) => {
    const values = postedValues(context, regionFields);
    const restrictedTo = context.get("form").getAll("restricted_to");
    const outcome = await attempt(
      context.get("api").PATCH("/regions/{region}", {
        ...options(context),
        body: toUpdateBody(values, restrictedTo),
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/operator/regions/${regionOf(context)}?notice=saved`, 303);
    const typed = { ...values, restricted_to: restrictedTo.join(" ") };
    const { form, banner, status } = refuseForm(context, outcome, "settings", typed, regionErrorFields);
    return showRegion(context, banner, form, status, null);
  });

  routes.post("/:region/enrolments", async (context) => {
    const outcome = await attempt(context.get("api").POST("/regions/{region}/enrolments", options(context)));
    if (outcome.kind !== "done") return refused(context, outcome);
    const { api_url: url, code } = outcome.data;
    if (code !== null)
      await cookies.writeOnce(context, enrolmentOf(context), `kule-agent enrol ${url} ${code}`);
    const notice = code === null ? "withheld" : "enrolment";
    return context.redirect(`/operator/regions/${regionOf(context)}?notice=${notice}`, 303);
  });

  routes.post("/:region/tokens", async (context) => {
    const values = postedValues(context, ["token_name"]);
    const outcome = await attempt(
      context.get("api").POST("/regions/{region}/agent-tokens", {
        ...options(context),
        body: { name: values.token_name },
      }),
    );
    if (outcome.kind === "done") return passOn(context, outcome.data.secret, "minted");
    const { form, banner, status } = refuseForm(context, outcome, "mint", values, {
      everything: "token_name",
    });
    return showRegion(context, banner, form, status, null);
  });

  routes.post("/:region/tokens/:token/rotate", async (context) => {
    const values = postedValues(context, ["overlap_seconds"]);
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").POST("/regions/{region}/agent-tokens/{token_id}/rotate", {
        params: { ...params, path: { ...params.path, token_id: context.req.param("token") } },
        body: { overlap_seconds: typedNumber(values.overlap_seconds) },
      }),
    );
    if (outcome.kind === "done") return passOn(context, outcome.data.secret, "rotated");
    return refused(context, outcome);
  });

  routes.post("/:region/tokens/:token/revoke", async (context) => {
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").DELETE("/regions/{region}/agent-tokens/{token_id}", {
        params: { ...params, path: { ...params.path, token_id: context.req.param("token") } },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/operator/regions/${regionOf(context)}?notice=revoked`, 303);
    return refused(context, outcome);
  });

  routes.post("/:region/agent-key/approve", async (context) => {
    const { fingerprint } = postedValues(context, ["fingerprint"]);
    const outcome = await attempt(
      context.get("api").POST("/regions/{region}/agent-key", { ...options(context), body: { fingerprint } }),
    );
    return keyDecided(context, outcome, "keyApproved");
  });

  routes.post("/:region/agent-key/refuse", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/regions/{region}/agent-key/pending", options(context)),
    );
    return keyDecided(context, outcome, "keyRefused");
  });

  /** Passes the secret to the next page. The answer to a repeat contains none. */
  async function passOn(context: ConsoleContext, secret: string | null, notice: string) {
    if (secret !== null) await cookies.writeOnce(context, subjectOf(context), secret);
    const name = secret === null ? "withheld" : notice;
    return context.redirect(`/operator/regions/${regionOf(context)}?notice=${name}`, 303);
  }

  return routes;
}

function keyDecided(context: ConsoleContext, outcome: Outcome<unknown>, notice: string) {
  if (outcome.kind !== "done") return refused(context, outcome);
  return context.redirect(`/operator/regions/${regionOf(context)}?notice=${notice}`, 303);
}

const regionOf = (context: ConsoleContext) => encodeURIComponent(context.req.param("region") ?? "");

/** The subject of a secret in a cookie. */
const subjectOf = (context: ConsoleContext) => `agent token of ${context.req.param("region")}`;

/** The same for a command line with a code. */
const enrolmentOf = (context: ConsoleContext) => `enrolment in ${context.req.param("region")}`;

function options(context: ConsoleContext) {
  return {
    params: {
      path: { region: context.req.param("region") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

function refused(
  context: ConsoleContext,
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
): Promise<Response> {
  const { banner, status } = refuseForm(context, outcome, "token", {}, {});
  return showRegion(context, banner, null, status, null);
}

async function showCreate(
  context: ConsoleContext,
  values: RegionValues,
  form: RefusedForm | null,
  banner: PageBanner,
  status: 200 | 409 | 422,
): Promise<Response> {
  const { items } = await readAll((page) =>
    context.get("api").GET("/organisations", { params: { query: page } }),
  );
  return context.html(
    renderPage(
      <RegionCreatePage
        view={context.get("view")}
        values={values}
        organisations={items}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}

async function showRegion(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
  secret: string | null,
  enrolment: string | null = null,
): Promise<Response> {
  const api = context.get("api");
  const path = { region: context.req.param("region") ?? "" };
  const [region, tokens, organisations] = await Promise.all([
    read(api.GET("/regions/{region}", { params: { path } })),
    read(api.GET("/regions/{region}/agent-tokens", { params: { path, query: { limit: 50 } } })),
    readAll((page) => api.GET("/organisations", { params: { query: page } })),
  ]);
  return context.html(
    renderPage(
      <RegionPage
        view={context.get("view")}
        region={region}
        tokens={tokens.items}
        organisations={organisations.items}
        secret={secret}
        enrolment={enrolment}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
