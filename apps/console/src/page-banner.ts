import { type ConsoleContext, noticeOf } from "./console-context.ts";

/** What stands above a page's content: what was done, or what stands in the way. */
export type PageBanner = { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;

/** The notice that the address names, as a banner. */
export function noticeBanner(context: ConsoleContext, notices: Readonly<Record<string, string>>): PageBanner {
  const text = noticeOf(context, notices);
  return text === null ? null : { kind: "notice", text };
}
