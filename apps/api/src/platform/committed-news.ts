/** Who is to be told of what: the payload of a NOTIFY on a channel. */
export type News = {
  readonly channel: "kule_job" | "kule_region" | "kule_invariants" | "kule_console";
  readonly payload: string;
};

/** Error codes of our own under which the triggers on `job` and `console_session` say what they saw change (migrations 0003 and 0009). */
const channels: { readonly [code: string]: News["channel"] | undefined } = {
  KN001: "kule_job",
  KN002: "kule_region",
  KN003: "kule_console",
};

/** What a notice of Postgres says of a job or a console; null for notices of other kinds. */
export function newsOfNotice(notice: {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}): News | null {
  const channel = channels[notice.code ?? ""];
  return channel === undefined || notice.message === undefined ? null : { channel, payload: notice.message };
}
