/** What the trail is cut down to, as the form has it; empty is not cut down. */
export type AuditQuery = {
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly outcome: "" | "succeeded" | "refused" | "failed";
  /** As a form has it, in UTC: `2026-11-21T10:00`. */
  readonly from: string;
  readonly to: string;
};

export const outcomes = ["succeeded", "refused", "failed"] as const;

/** Reads the address. An id that was typed goes before a person that was chosen. */
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

/** A typed time of UTC in RFC 3339; null for what is no time. */
export function utcTime(text: string): string | null {
  const time = new Date(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

export type AskedTrail =
  | { readonly ok: true; readonly parameters: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly wrong: readonly ("from" | "to")[] };

/** The query as the API takes it, or which of its times are none. */
export function askedOf(query: AuditQuery): AskedTrail {
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

/** The query as this page's own addresses have it. */
export function addressOf(query: AuditQuery): URLSearchParams {
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
}
