import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A paragraph of a page's sh blocks, and the expected statuses of its calls by the page. */
export type Step = { readonly commands: string; readonly statuses: readonly number[] | null };

/** A call that a step made. */
export type Call = { readonly method: string; readonly status: number; readonly url: URL };

export type StepResult = Step & { readonly calls: readonly Call[]; readonly output: string };

/** The heading of a section whose commands need guests that really boot; it ends at the next heading of its level. */
const realGuestSection = /^## [^\n]*\(`npm start -- --real-guests`\)\n.*?(?=^## )/ms;

/** A page without what needs real guests. */
export const withoutRealGuests = (markdown: string): string => markdown.replace(realGuestSection, "");

/** The first block of a page, which the others lean on, and what needs real guests. */
export function realGuestPart(markdown: string): string {
  const [first] = /^```sh\n.*?^```$/ms.exec(markdown) ?? [];
  const [section] = realGuestSection.exec(markdown) ?? [];
  if (first === undefined || section === undefined)
    throw new Error("the page has no section with real guests");
  return `${first}\n\n${section}`;
}

/**
 * The steps of a page: the paragraphs of its sh blocks. `# 202` or `# 202 or 409` at the beginning of a step
 * is the expected status of its calls; a line that only calls a function defined earlier is a step of its
 * own, because its calls are the function's.
 */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  for (const [, block = ""] of markdown.matchAll(/^```sh\n(.*?)^```$/gms))
    for (const paragraph of block.trim().split(/\n\n+/)) {
      const [, said] = /^# (\d{3}(?: or \d{3})*)\b/.exec(paragraph) ?? [];
      const statuses = said === undefined ? null : said.split(" or ").map(Number);
      const lines = paragraph.split("\n");
      const own = lines.filter((line) => !isCall(line)).join("\n");
      steps.push({ commands: own, statuses });
      for (const line of lines.filter(isCall)) steps.push({ commands: line, statuses: null });
    }
  return steps;
}

const isCall = (line: string) => /^[a-z]+$/.test(line) && line !== "fi" && line !== "done";

/**
 * Runs the steps one after the other in one shell, as a person types them, and reports the answer of every
 * call. The shell continues after a refusal, and ends at a command that fails, or after `timeoutMs`.
 */
export async function runSteps(
  steps: readonly Step[],
  where: { readonly directory: string; readonly home: string; readonly timeoutMs?: number },
): Promise<{ readonly results: readonly StepResult[]; readonly code: number | null }> {
  const bin = join(where.directory, "bin");
  const log = join(where.directory, "calls.log");
  mkdirSync(bin, { recursive: true });
  // curl itself, which also logs the status of each answer.
  const format = "%{stderr}%{method} %{http_code} %{url_effective}\\n";
  const path = process.env.PATH ?? "";
  writeFileSync(join(bin, "curl"), `#!/bin/sh\nPATH='${path}' exec curl -w '${format}' "$@" 2>>'${log}'\n`);
  chmodSync(join(bin, "curl"), 0o755);
  writeFileSync(log, "");
  const script = steps
    .map(({ commands }, index) => `printf '\\n== ${index}\\n' | tee -a '${log}'\n${commands}\n`)
    .join("");
  const shell = spawn("sh", ["-eu", "-c", script], {
    cwd: where.directory,
    env: { PATH: [bin, path].join(delimiter), HOME: where.home },
    stdio: ["ignore", "pipe", "pipe"],
    ...(where.timeoutMs === undefined ? {} : { timeout: where.timeoutMs }),
  });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const [code] = (await once(shell, "close")) as [number | null];
  const outputs = byStep(output);
  const calls = byStep(readFileSync(log, "utf8"));
  return {
    code,
    results: steps.map((step, index) => ({
      ...step,
      output: outputs.get(index) ?? "(not run)",
      calls: (calls.get(index) ?? "").split("\n").flatMap(readCall),
    })),
  };
}

function byStep(text: string): Map<number, string> {
  const [, ...parts] = text.split(/^== (\d+)\n/m);
  const found = new Map<number, string>();
  // Answers do not end their line.
  for (let n = 0; n + 1 < parts.length; n += 2) found.set(Number(parts[n]), parts[n + 1] ?? "");
  return found;
}

function readCall(line: string): Call[] {
  const [, method = "", status, url = ""] = /^([A-Z]+) (\d{3}) (http\S+)$/.exec(line) ?? [];
  return status === undefined ? [] : [{ method, status: Number(status), url: new URL(url) }];
}

/** Whether a step did what its page says; a sentence when not. */
export function verdictOf({ commands, statuses, calls, output }: StepResult): string | null {
  const wrong = calls.filter(({ status }) =>
    statuses === null ? status >= 300 : !statuses.includes(status),
  );
  const ended = /^follow$/.test(commands) && output.trim().split("\n").at(-1) !== "succeeded";
  if (output !== "(not run)" && wrong.length === 0 && !ended && (statuses === null || calls.length > 0))
    return null;
  const answers = calls.map(({ method, status, url }) => `${method} ${url.pathname}: ${status}`).join("\n");
  return `${commands}\n${answers}\n${output.slice(-1500)}`;
}
