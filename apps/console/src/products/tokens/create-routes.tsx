import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import { type ConsoleContext, type ConsoleEnv, sessionOf } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { isRole } from "../members/role-fields.tsx";
import type { Role } from "../members/roles-panel.tsx";
import { TokenCreatePage } from "./create-page.tsx";
import type { TokenDraft } from "./props.ts";
import { accessOf, typedScopes } from "./typed-scopes.ts";

const emptyDraft: TokenDraft = {
  name: "",
  role: "member",
  expiresInDays: "90",
  access: "all",
  scopes: null,
  reason: "",
};

/** @param passOn redirects to the page that shows the secret once */
export function createTokenRoutes(
  routes: Hono<ConsoleEnv>,
  passOn: (context: ConsoleContext, secret: string | null, notice: string) => Promise<Response>,
): void {
  routes.get("/tokens/new", (context) => showCreate(context, emptyDraft, null, null, 200));

  routes.post("/tokens/new", async (context) => {
    const form = context.get("form");
    const values = postedValues(context, ["name", "role", "expires_in_days", "reason"]);
    const scopes = typedScopes(form);
    const draft: TokenDraft = {
      name: values.name,
      role: isRole(values.role) ? values.role : "member",
      expiresInDays: values.expires_in_days,
      access: accessOf(form.get("access")),
      scopes,
      reason: values.reason,
    };
    if (scopes?.length === 0) {
      const { noneChosen } = context.get("view").messages.tokens;
      const refused = { of: "create", values, problems: { scopes: [noneChosen] } };
      return showCreate(context, draft, refused, null, 422);
    }
    const outcome = await attempt(
      context.get("api").POST("/tokens", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          role: values.role as Role,
          expires_in_days: typedNumber(values.expires_in_days),
          ...(scopes === null ? {} : { scopes: [...scopes] }),
          ...reasonOf(values.reason),
        },
      }),
    );
    if (outcome.kind === "done") return passOn(context, outcome.data.secret, "created");
    const refused = refuseForm(context, outcome, "create", values, {
      fields: ["name", "role", "scopes", "expires_in_days", "reason"],
    });
    return showCreate(context, draft, refused.form, refused.banner, refused.status);
  });
}

/** For operators only, whose forms have the field. */
export function reasonOf(reason: string): { reason?: string } {
  return reason === "" ? {} : { reason };
}

async function showCreate(
  context: ConsoleContext,
  draft: TokenDraft,
  form: RefusedForm | null,
  banner: PageBanner,
  status: 200 | 409 | 422,
): Promise<Response> {
  if (!may(sessionOf(context), "token:manage")) return forbidden(context, []);
  const me = await read(context.get("api").GET("/me"));
  return context.html(
    renderPage(
      <TokenCreatePage
        view={context.get("view")}
        me={me}
        draft={draft}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
