/** The payload of a NOTIFY and its channel. */
export type News = {
  readonly channel: "kule_job" | "kule_region" | "kule_invariants" | "kule_console";
  readonly payload: string;
};

/** Our own error codes under which the triggers on `job` and `console_session` report a change. */
const channels: { readonly [code: string]: News["channel"] | undefined } = {
  KN001: "kule_job",
  KN002: "kule_region",
  KN003: "kule_console",
};

/** The news in a notice of Postgres about a job or a console; null for other notices. */
export function newsOfNotice(notice: {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}): News | null {
  const channel = channels[notice.code ?? ""];
  return channel === undefined || notice.message === undefined ? null : { channel, payload: notice.message };
}
