import { type ConsoleContext, noticeOf } from "./console-context.ts";
import type { Remedy } from "./remedy.ts";

/** The banner above a page's content: what was done, or why it was refused. */
export type PageBanner = {
  readonly kind: "notice" | "problem" | "warning";
  readonly text: string;
  readonly remedy?: Remedy | null;
} | null;

/** The notice that the address names, as a banner: one of the page's own, or one of its labels editor. */
export function noticeBanner(context: ConsoleContext, notices: Readonly<Record<string, string>>): PageBanner {
  const { labels } = context.get("view").messages;
  const text = noticeOf(context, { ...labels.notices, ...notices });
  return text === null ? null : { kind: "notice", text };
}
