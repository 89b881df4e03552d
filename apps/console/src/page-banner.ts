import { type ConsoleContext, noticeOf } from "./console-context.ts";
import type { Remedy } from "./remedy.ts";

/** What stands above a page's content: what was done, or what stands in the way. */
export type PageBanner = {
  readonly kind: "notice" | "problem" | "warning";
  readonly text: string;
  readonly remedy?: Remedy | null;
} | null;

/** The notice that the address names, as a banner: one of the page's own, or of the labels that it may have. */
export function noticeBanner(context: ConsoleContext, notices: Readonly<Record<string, string>>): PageBanner {
  const { labels } = context.get("view").messages;
  const text = noticeOf(context, { ...labels.notices, ...notices });
  return text === null ? null : { kind: "notice", text };
}
