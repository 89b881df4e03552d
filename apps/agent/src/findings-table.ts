import type { Finding } from "@kule/proxmox/preflight";

/** Findings for people: one line each, what to do below, and the result at the end. */
export function findingsTable(findings: readonly Finding[]): string {
  const width = findings.reduce((longest, { check }) => Math.max(longest, check.length), 0);
  const lines = findings.flatMap((finding) => {
    const line = `${markOf(finding).padEnd(7)} ${finding.check.padEnd(width)}  ${finding.found}`;
    return finding.ok || finding.fix === null ? [line] : [line, `${" ".repeat(10)}fix: ${finding.fix}`];
  });
  const wrong = findings.filter((finding) => !finding.ok && finding.severity === "required").length;
  const advised = findings.filter((finding) => !finding.ok && finding.severity === "advised").length;
  const advice = advised === 0 ? "" : `, ${advised} to think about`;
  const sum =
    wrong === 0
      ? `ready: ${findings.length} checks`
      : `not ready: ${wrong} of ${findings.length} checks wrong`;
  return [...lines, "", `${sum}${advice}`].join("\n");
}

/** No finding prevents jobs from running. */
export function isReady(findings: readonly Finding[]): boolean {
  return findings.every((finding) => finding.ok || finding.severity === "advised");
}

function markOf(finding: Finding): string {
  if (finding.ok) return "ok";
  return finding.severity === "required" ? "WRONG" : "advice";
}
