import type { ConsoleContext } from "../../console-context.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { readItem } from "../../resources/call-operation.ts";
import type { BalancerTabProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";

export const balancerIds = (context: ConsoleContext) => ({
  load_balancer_id: context.req.param("load_balancer_id") ?? "",
});

/** The address of the load balancer's first page. */
export const balancerPage = (context: ConsoleContext): string =>
  `/load-balancers/${encodeURIComponent(balancerIds(context).load_balancer_id)}`;

/** The parameters of a change of the load balancer that is in the address. */
export const changeOptions = (context: ConsoleContext) => ({
  path: balancerIds(context),
  header: { "Idempotency-Key": postedKey(context) },
});

/** The notice that the address names. */
export const balancerNotice = (context: ConsoleContext): PageBanner =>
  noticeBanner(context, context.get("view").messages.loadBalancers.notices);

/**
 * What all tabs of the load balancer in the address show.
 *
 * @throws ApiRefused when the session sees no such load balancer
 */
export async function readTab(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<BalancerTabProps> {
  const balancer = await readItem(context.get("api"), loadBalancers, balancerIds(context));
  return { view: context.get("view"), balancer, form, banner, idempotencyKey: crypto.randomUUID() };
}
