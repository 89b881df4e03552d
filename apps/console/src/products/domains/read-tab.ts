import type { ConsoleContext } from "../../console-context.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { readItem } from "../../resources/call-operation.ts";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

export const domainIds = (context: ConsoleContext) => ({ domain_id: context.req.param("domain_id") ?? "" });

/** The address of the domain's first page. */
export const domainPage = (context: ConsoleContext) =>
  `/domains/${encodeURIComponent(domainIds(context).domain_id)}`;

/** The parameters of a change of the domain that is in the address. */
export const changeOptions = (context: ConsoleContext) => ({
  path: domainIds(context),
  header: { "Idempotency-Key": postedKey(context) },
});

/** The notice that the address names. */
export const domainNotice = (context: ConsoleContext): PageBanner =>
  noticeBanner(context, context.get("view").messages.domains.notices);

/**
 * What all tabs of the domain in the address show.
 *
 * @throws ApiRefused when the session sees no such domain
 */
export async function readTab(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<DomainTabProps> {
  const domain = await readItem(context.get("api"), domains, domainIds(context));
  return { view: context.get("view"), domain, form, banner, idempotencyKey: crypto.randomUUID() };
}
