/** Who is to be told of what: the payload of a NOTIFY on a channel. */
export type News = {
  readonly channel: "kule_job" | "kule_region" | "kule_invariants";
  readonly payload: string;
};

/** Error codes of our own under which the trigger on `job` says what it saw change (migration 0003). */
const channels: { readonly [code: string]: News["channel"] | undefined } = {
  KN001: "kule_job",
  KN002: "kule_region",
};

/** What a notice of Postgres says of a job; null for notices of other kinds. */
export function newsOfNotice(notice: {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}): News | null {
  const channel = channels[notice.code ?? ""];
  return channel === undefined || notice.message === undefined ? null : { channel, payload: notice.message };
}
