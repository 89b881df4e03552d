import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removePatchedBundles } from "@kule/build/bundle-apps";
import { patchesVariable } from "@kule/build/source-patch";
import { brokerVariable } from "@kule/testing/database-broker";
import type { Mutant, RowResult } from "./row.ts";
import type { RowAnswer, RowOrder } from "./run-row.ts";

export type RowRunOutcome = { readonly seconds: number } & (
  | { readonly result: RowResult }
  /** The row could not be carried out; the text is the reason. */
  | { readonly error: string }
);

export type RowProcessOptions = {
  readonly order: Omit<RowOrder, "mutant">;
  readonly mutant: Mutant | null;
  readonly limitMinutes: number;
  readonly progress: (text: string) => void;
  /** Ends the row's process. */
  readonly stopped?: AbortSignal;
};

const dieWithParent = import.meta.resolve("@kule/quickstart/die-with-parent");
const register = new URL("./mutants/register.ts", import.meta.url).href;
const entry = join(import.meta.dirname, "run-row.ts");

/** Runs a row in a process of its own, with the mutant's patches in whatever it imports, bundles and migrates. */
export async function runRowProcess(options: RowProcessOptions): Promise<RowRunOutcome> {
  const directory = mkdtempSync(join(tmpdir(), "kule-battery-"));
  const startedAt = performance.now();
  try {
    const answer = await converse(options, directory);
    return { ...answer, seconds: (performance.now() - startedAt) / 1000 };
  } finally {
    if (options.mutant !== null) removePatchedBundles(options.mutant.patches);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function converse(
  { order, mutant, limitMinutes, progress, stopped }: RowProcessOptions,
  directory: string,
): Promise<{ result: RowResult } | { error: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  const preloads = ["--import", dieWithParent];
  if (mutant !== null) {
    env[patchesVariable] = join(directory, "patches.json");
    writeFileSync(join(directory, "patches.json"), JSON.stringify(mutant.patches));
    preloads.push("--import", register);
    // A patched migration needs a database template of its own.
    if (mutant.patches.some(({ file }) => file.startsWith("packages/database/"))) delete env[brokerVariable];
  }
  const child = spawn(
    process.execPath,
    [...preloads, entry, JSON.stringify({ ...order, mutant: mutant?.name ?? null })],
    { env, stdio: ["ignore", "pipe", "pipe", "ipc"] },
  );
  let output = "";
  const keep = (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-4000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const { promise, resolve } = Promise.withResolvers<{ result: RowResult } | { error: string }>();
  let said: { result: RowResult } | { error: string } | null = null;
  child.on("message", (answer: RowAnswer) => {
    if ("progress" in answer) progress(answer.progress);
    else said = answer;
  });
  const overrun = setTimeout(() => {
    said = { error: `not done after ${limitMinutes} minutes` };
    child.kill("SIGKILL");
  }, limitMinutes * 60_000);
  stopped?.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
  child.on("error", (error) => resolve({ error: error.message }));
  child.on("exit", (code, signal) => {
    clearTimeout(overrun);
    resolve(said ?? { error: `the row's process ended with ${signal ?? code} and said nothing\n${output}` });
  });
  return promise;
}
