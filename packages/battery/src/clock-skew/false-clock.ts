import { globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A wall clock that some processes see: off by so much, or faster, and settable while they run. */
export class FalseClock {
  readonly #directory = mkdtempSync(path.join(tmpdir(), "kule-clock-"));
  readonly #file = path.join(this.#directory, "offset");
  readonly #library = findLibrary();

  constructor() {
    this.set(rightTime);
  }

  /** Of the processes that see this clock. Their monotonic clock, and so their timers, stay right. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** @param offset as libfaketime has it: "+2h", "-1h", "+0 x60" */
  set(offset: string): void {
    // A speed once given stays until another one is.
    const speed = / x\d+$/.test(offset) ? "" : " x1";
    writeFileSync(`${this.#file}.new`, `${offset}${speed}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export const rightTime = "+0";

/** Idle agents report seldom: their last report may be this old. */
const TOLERANCE_MILLISECONDS = 90_000;
/** A clock that runs away is ahead of the right one by more than this when the jobs of a skew are over. */
const RUN_AWAY_MILLISECONDS = 120_000;

/** Whether a wall clock that is off by so much is one that was set to the offset. */
export function fitsOffset(offset: string, millisecondsOff: number): boolean {
  const match = /^([+-]\d+)(h?)( x\d+)?$/.exec(offset);
  if (match === null) throw new Error(`${offset} is no offset`);
  if (match[3] !== undefined) return millisecondsOff > RUN_AWAY_MILLISECONDS;
  const meant = Number(match[1]) * (match[2] === "h" ? 3_600_000 : 1000);
  return Math.abs(millisecondsOff - meant) < TOLERANCE_MILLISECONDS;
}

function findLibrary(): string {
  const [library] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1");
  if (library === undefined)
    throw new Error("libfaketime is missing; install the Debian package libfaketime");
  return library;
}
