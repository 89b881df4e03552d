import { appendFileSync, renameSync, statSync } from "node:fs";

/** Puts a log that has grown large aside; the one that was there before goes. */
export function makeRoomInLog(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > 10_000_000) renameSync(path, `${path}.1`);
}

/** Adds a line with its time. A log that cannot be written to must not end what it tells of. */
export function appendToLog(path: string, line: string): void {
  try {
    makeRoomInLog(path);
    appendFileSync(path, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
  } catch {
    // The terminal has it.
  }
}
