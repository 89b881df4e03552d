import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

/** The fields of the form of a record set. */
export const recordFields = ["name", "type", "ttl", "values", "server", "comment"] as const;
export type RecordValues = Readonly<Record<(typeof recordFields)[number], string>>;

/** A value that stands for a server's addresses. */
const reference = "auto:";

/** The server that a record set follows; null without one. */
export function followedServer({
  values: [first = ""],
}: {
  readonly values: readonly string[];
}): string | null {
  return first.startsWith(reference) ? first.slice(reference.length) : null;
}

/** A record set as the form shows it. */
export function valuesOf(recordSet: Schemas["RecordSet"]): RecordValues {
  const server = followedServer(recordSet);
  return {
    name: recordSet.name,
    type: recordSet.type,
    ttl: String(recordSet.ttl),
    values: server === null ? recordSet.values.join("\n") : "",
    server: server ?? "",
    comment: recordSet.comment,
  };
}

/** The lines that are values, each with its number from 1. */
export function typedLines(text: string): readonly { readonly line: number; readonly value: string }[] {
  return text
    .split(/\r?\n/)
    .map((value, at) => ({ line: at + 1, value: value.trim() }))
    .filter(({ value }) => value !== "");
}

/** The body of the request. The API reports errors in it beside their fields. */
export function recordBody({ ttl, values, server, comment }: RecordValues): RequestBody<"setRecordSet"> {
  return {
    ...(ttl === "" ? {} : { ttl: typedNumber(ttl) }),
    values: [
      ...typedLines(values).map(({ value }) => value),
      ...(server === "" ? [] : [`${reference}${server}`]),
    ],
    comment,
  };
}
