import { appendFileSync, renameSync, statSync } from "node:fs";

/** Rotates a log that has grown large; the previous one is deleted. */
export function rotateLog(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > 10_000_000) renameSync(path, `${path}.1`);
}

/** Adds a line with its time. A log that cannot be written must not end the program. */
export function appendToLog(path: string, line: string): void {
  try {
    rotateLog(path);
    appendFileSync(path, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
  } catch {
    // The terminal has it.
  }
}
