import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Row } from "./table.ts";

const root = resolve(import.meta.dirname, "../../..");
const page = resolve(root, "docs/bench.md");

/** Writes a whole run into docs/bench.md, in place of the last one with as many replicas. */
export function writeTable(rows: readonly Row[], replicas: number, machine: string): void {
  const git = (...words: string[]) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", ".", ":!docs/bench.md") !== "";
  const commit = `${git("rev-parse", "--short=8", "HEAD")}${isChanged ? " with changes" : ""}`;
  const facts = `Commit ${commit}, ${new Date().toISOString().slice(0, 10)}, ${machine}.`;
  writeFileSync(page, withTable(readFileSync(page, "utf8"), replicas, facts, rows));
}

/** The page's text with the table of this run in place of the one with as many replicas, or at its end. */
export function withTable(text: string, replicas: number, facts: string, rows: readonly Row[]): string {
  const heading = replicas === 1 ? "### One API" : `### ${replicas} replicas of the API`;
  const lines = rows.map(({ what, ours, floor, ratio, aim, reached }) => {
    const mark = reached === null ? "" : reached ? "✓" : "✗";
    return `| ${[mark, what, ours, floor, ratio, aim].join(" | ")} |`;
  });
  const table = ["| | what | Kule | compared with | ratio | aim |", "|---|---|---|---|---|---|", ...lines];
  const section = `${heading}\n\n${facts}\n\n${table.join("\n")}\n`;
  const from = text.indexOf(`${heading}\n`);
  if (from < 0) return `${text.trimEnd()}\n\n${section}`;
  const next = text.indexOf("\n### ", from);
  return `${text.slice(0, from)}${section}${next < 0 ? "" : `\n${text.slice(next + 1)}`}`;
}
