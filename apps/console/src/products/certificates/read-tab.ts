import type { ConsoleContext } from "../../console-context.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { readItem } from "../../resources/call-operation.ts";
import type { CertificateTabProps } from "./props.ts";
import { certificates } from "./resource.ts";

export const certificateIds = (context: ConsoleContext) => ({
  certificate_id: context.req.param("certificate_id") ?? "",
});

/** The address of the certificate's first page. */
export const certificatePage = (context: ConsoleContext): string =>
  `/certificates/${encodeURIComponent(certificateIds(context).certificate_id)}`;

/** The parameters of a change of the certificate that is in the address. */
export const changeOptions = (context: ConsoleContext) => ({
  path: certificateIds(context),
  header: { "Idempotency-Key": postedKey(context) },
});

/** The notice that the address names. */
export const certificateNotice = (context: ConsoleContext): PageBanner =>
  noticeBanner(context, context.get("view").messages.certificates.notices);

/**
 * What all tabs of the certificate in the address show.
 *
 * @throws ApiRefused when the session sees no such certificate
 */
export async function readTab(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<CertificateTabProps> {
  const certificate = await readItem(context.get("api"), certificates, certificateIds(context));
  return { view: context.get("view"), certificate, form, banner, idempotencyKey: crypto.randomUUID() };
}
