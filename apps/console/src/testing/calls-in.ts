import type { OperationId } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";

export type ShownCall = { readonly operation: OperationId; readonly text: string };

/** The calls that a page shows, each with its operation. */
export function callsIn(page: string): ShownCall[] {
  const found = page.matchAll(
    /<details class="call">\s*<summary>[\s\S]*?<span class="(?:visually-hidden|call-operation)">(\w+)<\/span>[\s\S]*?<code[^>]*>([\s\S]*?)<\/code>/g,
  );
  return [...found].map(([, operation = "", text = ""]) => ({
    operation: operation as OperationId,
    text: text
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&"),
  }));
}

/** The contract's errors for the body of a shown call; null without errors. */
export function wrongInCall({ operation, text }: ShownCall): string | null {
  const body = /-d '([\s\S]*)'$/.exec(text)?.[1];
  if (body === undefined) return null;
  const checked = validateBody(operation, JSON.parse(body.replaceAll("'\\''", "'")));
  return checked.ok ? null : `${operation}: ${JSON.stringify(checked.errors)}`;
}
