import type { Schemas } from "@kule/contract/schemas";

export const recordTypes = [
  "A",
  "AAAA",
  "CNAME",
  "MX",
  "TXT",
  "NS",
  "SRV",
  "CAA",
  "PTR",
  "TLSA",
  "SSHFP",
] as const satisfies readonly Schemas["RecordType"][];

export function isRecordType(text: string | null | undefined): text is Schemas["RecordType"] {
  return recordTypes.some((type) => type === text);
}

/** The address of a domain's records: what is shown of them, and which form is open. */
export type RecordQuery = {
  readonly q: string;
  readonly type: Schemas["RecordType"] | "";
  readonly cursor: string | undefined;
  readonly isAdding: boolean;
  readonly editing: { readonly name: string; readonly type: Schemas["RecordType"] } | null;
};

/** Reads the address; invalid values are ignored. */
export function readRecordQuery(address: URLSearchParams): RecordQuery {
  const text = (name: string) => (address.get(name) ?? "").trim();
  const [type, name, editType] = [text("type"), text("edit"), text("edit_type")];
  return {
    q: text("q").slice(0, 100),
    type: isRecordType(type) ? type : "",
    cursor: text("cursor") || undefined,
    isAdding: address.has("add"),
    editing: name !== "" && isRecordType(editType) ? { name, type: editType } : null,
  };
}

/** The filters of the address, without the form that is open in it. */
export function recordFilters({ q, type, cursor }: RecordQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  if (q !== "") parameters.set("q", q);
  if (type !== "") parameters.set("type", type);
  if (cursor !== undefined) parameters.set("cursor", cursor);
  return parameters;
}

/** The address of the records with these filters and `more`. */
export function recordsAddress(
  page: string,
  query: RecordQuery,
  more: Readonly<Record<string, string>> = {},
): string {
  const parameters = recordFilters(query);
  for (const [name, value] of Object.entries(more)) parameters.set(name, value);
  return parameters.size === 0 ? page : `${page}?${parameters}`;
}
