import { type Finding, isReady } from "./finding.ts";

/** Findings for people, as `kule-agent check` prints them: one line each, what to do below, and the result at the end. */
export function findingsTable(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap((finding) => {
    const line = `${markOf(finding).padEnd(7)} ${finding.check.padEnd(width)}  ${finding.found}`;
    return finding.ok || finding.fix === null ? [line] : [line, `${" ".repeat(10)}fix: ${finding.fix}`];
  });
  const failed = findings.filter(({ ok }) => !ok);
  const wrong = failed.filter(({ severity }) => severity === "required").length;
  const advised = failed.length - wrong;
  const sum = isReady(findings)
    ? `ready: ${findings.length} checks`
    : `not ready: ${wrong} of ${findings.length} checks wrong`;
  return [...lines, "", `${sum}${advised === 0 ? "" : `, ${advised} to think about`}`].join("\n");
}

function markOf({ ok, severity }: Finding): string {
  if (ok) return "ok";
  return severity === "required" ? "WRONG" : "advice";
}
