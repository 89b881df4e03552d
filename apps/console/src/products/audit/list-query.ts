/** The filters of the trail, as the form has them; an empty value does not filter. */
export type AuditQuery = {
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly outcome: "" | "succeeded" | "refused" | "failed";
  /** As the form's input has it, in UTC: `2026-11-21T10:00`. */
  readonly from: string;
  readonly to: string;
};

export const outcomes = ["succeeded", "refused", "failed"] as const;

/** Reads the address. A typed id takes precedence over a chosen person. */
export function readAuditQuery(address: URLSearchParams): AuditQuery {
  const text = (name: string) => (address.get(name) ?? "").trim();
  return {
    actor: text("actor_id") || text("actor"),
    action: text("action"),
    resource: text("resource"),
    outcome: outcomes.find((each) => each === address.get("outcome")) ?? "",
    from: text("from"),
    to: text("to"),
  };
}

/** A typed UTC time in RFC 3339; null for an invalid time. */
export function utcTime(text: string): string | null {
  const time = new Date(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

export type AuditRequest =
  | { readonly ok: true; readonly parameters: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly wrong: readonly ("from" | "to")[] };

/** The query as the API takes it, or the names of the invalid times. */
export function auditRequest(query: AuditQuery): AuditRequest {
  const wrong = (["from", "to"] as const).filter(
    (name) => query[name] !== "" && utcTime(query[name]) === null,
  );
  if (wrong.length > 0) return { ok: false, wrong };
  const parameters = Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => {
      if (value === "") return [];
      return [[name, name === "from" || name === "to" ? (utcTime(value) ?? "") : value]];
    }),
  );
  return { ok: true, parameters };
}

/** The query for this page's own addresses. */
export function addressOf(query: AuditQuery): URLSearchParams {
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
}
