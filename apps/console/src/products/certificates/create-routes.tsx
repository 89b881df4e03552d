import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { createPath, pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { CreateCertificatePage } from "./create-page.tsx";
import { createBody, createFields } from "./create-values.ts";
import { certificates } from "./resource.ts";

/** `/certificates/new`: the form of a certificate, and its creation. */
export function createRoutes(routes: Hono<ConsoleEnv>): void {
  const page = createPath(certificates);
  routes.get(page, (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "certificate:create")) return forbidden(context, []);
    return show(context, null, null, 200);
  });

  routes.post(page, async (context) => {
    // The private key is in no value that a page could show again.
    const values = postedValues(context, createFields);
    const { private_key } = postedValues(context, ["private_key"]);
    const outcome = await attempt(
      context.get("api").POST("/certificates", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: createBody(values, private_key),
      }),
    );
    if (outcome.kind === "done") {
      const { certificate } = outcome.data as Schemas["CertificateAndJob"];
      const notice = certificate.type === "managed" ? "requested" : "created";
      return context.redirect(`${pageOf(certificates, certificate)}?notice=${notice}`, 303);
    }
    const { form, banner, status } = refuseForm(context, outcome, "certificate", values, {
      fields: [...createFields, "private_key"],
      conflicts: { name_taken: "name" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return show(context, banner, form, status);
  });
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const { regions } = await read(context.get("api").GET("/catalog"));
  return context.html(
    renderPage(
      <CreateCertificatePage
        view={context.get("view")}
        regions={regions}
        banner={banner}
        form={form}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
