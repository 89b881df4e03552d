/** What a check of a region found. */
export type Finding = {
  readonly check: string;
  readonly ok: boolean;
  /** `advised` findings do not prevent jobs from running. */
  readonly severity: "required" | "advised";
  readonly found: string;
  readonly fix: string | null;
};

export function passed(check: string, found: string): Finding {
  return { check, ok: true, severity: "required", found, fix: null };
}

export function failed(
  check: string,
  found: string,
  fix: string,
  severity: Finding["severity"] = "required",
): Finding {
  return { check, ok: false, severity, found, fix };
}
