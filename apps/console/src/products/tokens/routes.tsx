import { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { refuseForm } from "../../refused-form.ts";
import { createTokenRoutes, reasonOf } from "./create-routes.tsx";
import { TokensPage } from "./list-page.tsx";
import { overlapSeconds } from "./list-table.tsx";

/** The subject of a secret in a cookie. */
const tokenSecret = "an API token";

/** The organisation's API tokens. */
export function tokenRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/tokens", async (context) => {
    const secret = await cookies.takeOnce(context, tokenSecret);
    return showTokens(context, {
      banner: noticeBanner(context, context.get("view").messages.tokens.notices),
      status: 200,
      secret,
    });
  });

  createTokenRoutes(routes, passOn);

  routes.post("/tokens/:id/rotate", async (context) => {
    const { overlap, reason } = postedValues(context, ["overlap", "reason"]);
    const known = Object.entries(overlapSeconds).find(([name]) => name === overlap);
    const outcome = await attempt(
      context.get("api").POST("/tokens/{token_id}/rotate", {
        params: {
          path: { token_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { overlap_seconds: known?.[1] ?? 0, ...reasonOf(reason) },
      }),
    );
    if (outcome.kind === "done") return passOn(context, outcome.data.secret, "rotated");
    return refused(context, outcome);
  });

  routes.post("/tokens/:id/revoke", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/tokens/{token_id}", {
        params: {
          path: { token_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/tokens?notice=revoked", 303);
    return refused(context, outcome);
  });

  routes.get("/tokens/*", (context) => context.redirect("/tokens", 303));

  /** Passes the secret to the next page. The answer to a repeat contains none. */
  async function passOn(context: ConsoleContext, secret: string | null, notice: string) {
    if (secret !== null) await cookies.writeOnce(context, tokenSecret, secret);
    return context.redirect(`/tokens?notice=${secret === null ? "withheld" : notice}`, 303);
  }

  return routes;
}

function refused(
  context: ConsoleContext,
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
): Promise<Response> {
  const { banner, status } = refuseForm(context, outcome, "act", {}, {});
  return showTokens(context, { banner, status, secret: null });
}

async function showTokens(
  context: ConsoleContext,
  state: {
    readonly banner: PageBanner;
    readonly status: 200 | 409 | 422;
    readonly secret: string | null;
  },
): Promise<Response> {
  const api = context.get("api");
  const view = context.get("view");
  const cursor = context.req.query("cursor") || undefined;
  const limit = rowsOf(view.lists, "tokens");
  const tokens = await read(
    api.GET("/tokens", { params: { query: { limit, ...(cursor === undefined ? {} : { cursor }) } } }),
  );
  return context.html(
    renderPage(
      <TokensPage
        view={view}
        tokens={tokens}
        cursor={cursor}
        secret={state.secret}
        banner={state.banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    state.status,
  );
}
