import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
} from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { InvitePage } from "./invite-page.tsx";
import type { Role } from "./roles-panel.tsx";

/** The subject of a secret in a cookie. */
export const invitationLink = "an invitation's link";

const fields = ["email", "role", "expires_in_days"] as const;

export function inviteRoutes(routes: Hono<ConsoleEnv>, { cookies, settings }: ConsoleServices): void {
  routes.get("/members/invite", (context) => showInvite(context, null, null, 200));

  routes.post("/members/invite", async (context) => {
    const values = postedValues(context, fields);
    const outcome = await attempt(
      context.get("api").POST("/invitations", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          email: values.email,
          role: values.role as Role,
          expires_in_days: typedNumber(values.expires_in_days),
        },
      }),
    );
    if (outcome.kind !== "done") {
      const { form, banner, status } = refuseForm(context, outcome, "invite", values, {
        fields,
        conflicts: { already_member: "email", already_invited: "email" },
      });
      return showInvite(context, form, banner, status);
    }
    const { secret } = outcome.data;
    if (secret !== null)
      await cookies.writeOnce(context, invitationLink, `${settings.publicUrl}/join?invitation=${secret}`);
    return context.redirect(`/members?notice=${secret === null ? "withheld" : "invited"}`, 303);
  });
}

async function showInvite(
  context: ConsoleContext,
  form: RefusedForm | null,
  banner: PageBanner,
  status: 200 | 409 | 422,
): Promise<Response> {
  if (!may(sessionOf(context), "member:manage")) return forbidden(context, []);
  const me = await read(context.get("api").GET("/me"));
  return context.html(
    renderPage(
      <InvitePage
        view={context.get("view")}
        me={me}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
