/** What doctor found out about one part of the installation. */
export type Finding = {
  readonly check: string;
  readonly ok: boolean;
  /** `advised` findings do not make the installation unready. */
  readonly severity: "required" | "advised";
  readonly found: string;
  readonly fix: string | null;
};

export const good = (check: string, found: string): Finding => ({
  check,
  ok: true,
  severity: "required",
  found,
  fix: null,
});

export const wrong = (check: string, found: string, fix: string): Finding => ({
  check,
  ok: false,
  severity: "required",
  found,
  fix,
});

export const advice = (check: string, found: string, fix: string): Finding => ({
  check,
  ok: false,
  severity: "advised",
  found,
  fix,
});

/** Nothing prevents the installation from working. */
export const isReady = (findings: readonly Finding[]): boolean =>
  findings.every(({ ok, severity }) => ok || severity === "advised");

/** The longest list of names in a finding. */
const mostNames = 5;

/** `a, b and 3 more` */
export function someOf(names: readonly string[]): string {
  const more = names.length - mostNames;
  const shown = names.slice(0, more > 0 ? mostNames : names.length).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** An error's text on one line: a server's own words may have several. */
export const wordsOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).replace(/\s+/g, " ").slice(0, 300);
