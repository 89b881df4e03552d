import { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { invitationLink, inviteRoutes } from "./invite-routes.tsx";
import { MembersPage } from "./list-page.tsx";
import type { Role } from "./roles-panel.tsx";

/** The subject of a secret in a cookie. */
const passwordLink = "a link for a new password";

/** The members of the organisation, and its invitations. */
export function memberRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const { cookies, settings } = services;
  const routes = new Hono<ConsoleEnv>();

  routes.get("/members", async (context) => {
    const link =
      (await cookies.takeOnce(context, invitationLink)) ?? (await cookies.takeOnce(context, passwordLink));
    return showMembers(context, {
      banner: noticeBanner(context, context.get("view").messages.members.notices),
      status: 200,
      link,
    });
  });

  inviteRoutes(routes, services);

  routes.post("/members/invitations/:id/revoke", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/invitations/{invitation_id}", {
        params: {
          path: { invitation_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/members?notice=revoked", 303);
    return refused(context, outcome);
  });

  routes.post("/members/:id/role", async (context) => {
    const values = postedValues(context, ["role"]);
    const outcome = await attempt(
      context.get("api").PATCH("/members/{member_id}", {
        params: {
          path: { member_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { role: values.role as Role },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/members?notice=changed", 303);
    return refused(context, outcome);
  });

  routes.post("/members/:id/remove", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/members/{member_id}", {
        params: {
          path: { member_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    // Another request removed it first: the result is the same.
    const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
    if (outcome.kind === "done" || isGone) return context.redirect("/members?notice=removed", 303);
    return refused(context, outcome);
  });

  routes.post("/members/:id/second-factor", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/members/{member_id}/second-factor", {
        params: {
          path: { member_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    if (outcome.kind === "refused" && outcome.problem.code === "proof_required")
      return context.redirect("/account/proof", 303);
    if (outcome.kind === "done") return context.redirect("/members?notice=second-factor-reset", 303);
    return refused(context, outcome);
  });

  routes.post("/members/:id/password-reset", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/members/{member_id}/password-reset", {
        params: {
          path: { member_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    if (outcome.kind === "refused" && outcome.problem.code === "proof_required")
      return context.redirect("/account/proof", 303);
    if (outcome.kind !== "done") return refused(context, outcome);
    const { secret } = outcome.data;
    if (secret !== null)
      await cookies.writeOnce(context, passwordLink, `${settings.publicUrl}/reset-password?secret=${secret}`);
    return context.redirect(`/members?notice=${secret === null ? "withheld" : "password-link"}`, 303);
  });

  routes.get("/members/*", (context) => context.redirect("/members", 303));
  return routes;
}

function refused(
  context: ConsoleContext,
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
): Promise<Response> {
  const { banner, status } = refuseForm(context, outcome, "act", {}, {});
  return showMembers(context, { banner, status, link: null });
}

async function showMembers(
  context: ConsoleContext,
  state: {
    readonly banner: PageBanner;
    readonly status: 200 | 409 | 422;
    readonly link: string | null;
  },
): Promise<Response> {
  const api = context.get("api");
  const view = context.get("view");
  const cursor = context.req.query("cursor") || undefined;
  const limit = rowsOf(view.lists, "members");
  const showsAll = context.req.query("invitations") === "all";
  const [me, members, invitations] = await Promise.all([
    read(api.GET("/me")),
    read(api.GET("/members", { params: { query: { limit, ...(cursor === undefined ? {} : { cursor }) } } })),
    may(sessionOf(context), "member:manage")
      ? read(
          api.GET("/invitations", {
            params: { query: { limit: 100, ...(showsAll ? {} : { status: ["open" as const] }) } },
          }),
        )
      : null,
  ]);
  return context.html(
    renderPage(
      <MembersPage
        view={view}
        me={me}
        members={members}
        invitations={invitations}
        showsAll={showsAll}
        cursor={cursor}
        link={state.link}
        banner={state.banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    state.status,
  );
}
