import type { Hono } from "hono";
import qrcode from "qrcode";
import { ApiAway, ApiRefused, attempt, conflictOf, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { passkeyAnswer } from "../../layout/passkey-form.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import { listProviders } from "../sign-in/providers.ts";
import { ProofPage } from "./prove-page.tsx";
import { SetUpPage } from "./set-up-two-factor-page.tsx";
import { RecoveryCodesPage } from "./show-recovery-codes-page.tsx";

const accountPath = "/account/security";
const proofPath = "/account/proof";

type Refused = Exclude<Outcome<unknown>, { readonly kind: "done" }>;

export function twoFactorRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  const showProof = (
    context: ConsoleContext,
    problems: FieldProblems,
    banner: PageBanner,
    status: 200 | 422 | 429,
  ) => drawProof(services, context, { problems, banner, status });

  routes.post("/account/two-factor/begin", (context) => showSetUp(context, noProblems));

  routes.post("/account/two-factor/confirm", async (context) => {
    const code = (context.get("form").get("code") ?? "").replaceAll(/\s/g, "");
    const outcome = await attempt(
      context.get("api").POST("/me/totp/confirm", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: { code },
      }),
    );
    if (outcome.kind === "done") return showCodes(context, outcome.data.recovery_codes);
    const { messages } = context.get("view");
    if (outcome.kind === "away" && outcome.tooMany)
      return showSetUp(context, { code: [messages.account.tooMany] }, 429);
    if (outcome.kind === "refused" && outcome.problem.status === 422)
      return showSetUp(context, { code: [messages.account.codeRefused] }, 422);
    return answerRefused(context, outcome);
  });

  routes.post("/account/two-factor/remove", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/me/totp", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`${accountPath}?notice=app-removed`, 303);
    return answerRefused(context, outcome);
  });

  routes.post("/account/recovery-codes", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/me/recovery-codes", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
      }),
    );
    if (outcome.kind === "done") return showCodes(context, outcome.data.recovery_codes);
    return answerRefused(context, outcome);
  });

  routes.get(proofPath, (context) => showProof(context, noProblems, null, 200));
  routes.post(proofPath, async (context) => {
    const form = context.get("form");
    const password = form.get("password");
    const typed = (form.get("code") ?? "").trim();
    const digits = typed.replaceAll(/\s/g, "");
    const body =
      password !== null
        ? { password }
        : /^\d{6}$/.test(digits)
          ? { code: digits }
          : { recovery_code: typed || "-" };
    const passkey = passkeyAnswer(form);
    const outcome = await attempt(
      context.get("api").POST("/me/proof", { body: passkey === null ? body : { passkey } }),
    );
    if (outcome.kind === "done") return context.redirect(`${accountPath}?notice=proven`, 303);
    const { messages } = context.get("view");
    if (outcome.kind === "away" && outcome.tooMany)
      return showProof(context, noProblems, { kind: "problem", text: messages.account.tooMany }, 429);
    conflictOf(outcome);
    const name = password === null ? "code" : "password";
    const text = password === null ? messages.account.codeRefused : messages.signIn.refused;
    return showProof(context, { [name]: [text] }, null, 422);
  });

  for (const path of ["/account/two-factor/*", "/account/recovery-codes"])
    routes.get(path, (context) => context.redirect(accountPath, 303));
}

/** Redirects to the proof page if a proof is missing; otherwise to the page, with a notice about the refusal. */
export function answerRefused(context: ConsoleContext, outcome: Refused): Response {
  if (outcome.kind === "refused" && outcome.problem.code === "proof_required")
    return context.redirect(proofPath, 303);
  const problem = conflictOf(outcome);
  // A closed list of codes, so that an address cannot show any other text.
  const known = problem.code in context.get("view").messages.account.refusals;
  if (known) return context.redirect(`${accountPath}?refused=${problem.code}`, 303);
  throw new ApiRefused(problem);
}

async function showSetUp(context: ConsoleContext, problems: FieldProblems, status: 200 | 422 | 429 = 200) {
  // A repeated request returns the same secret, so a wrong code does not require another scan.
  const outcome = await attempt(
    context.get("api").POST("/me/totp", {
      params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    }),
  );
  if (outcome.kind !== "done") return answerRefused(context, outcome);
  const { secret, otpauth_uri: uri } = outcome.data;
  if (secret === null || uri === null) throw new ApiAway("the secret was withheld", null);
  const qrCode = await qrcode.toString(uri, { type: "svg", margin: 2 });
  return context.html(
    renderPage(<SetUpPage view={context.get("view")} secret={secret} qrCode={qrCode} problems={problems} />),
    status,
  );
}

/** The recovery codes, which no other page shows. */
export function showCodes(context: ConsoleContext, codes: readonly string[] | null) {
  return context.html(renderPage(<RecoveryCodesPage view={context.get("view")} codes={codes} />));
}

async function drawProof(
  services: ConsoleServices,
  context: ConsoleContext,
  shown: {
    readonly problems: FieldProblems;
    readonly banner: PageBanner;
    readonly status: 200 | 422 | 429;
  },
) {
  const api = context.get("api");
  const security = await read(api.GET("/me/security"));
  const { totp, passkeys, identities, recovery_codes_left: left } = security;
  const hasSecond = totp !== null || passkeys.length > 0;
  const first = security.has_password ? "password" : null;
  const by = hasSecond ? (totp !== null || left > 0 ? "code" : null) : first;
  const linked = hasSecond ? [] : await listProviders(services, context);
  const providers = linked.filter(({ id }) => identities.some(({ provider }) => provider?.id === id));
  const ceremony =
    passkeys.length === 0
      ? null
      : await read(api.POST("/me/passkey-options", { body: { purpose: "prove" } }));
  return context.html(
    renderPage(
      <ProofPage
        view={context.get("view")}
        by={by}
        ceremony={ceremony}
        providers={providers}
        problems={shown.problems}
        banner={shown.banner}
      />,
    ),
    shown.status,
  );
}
