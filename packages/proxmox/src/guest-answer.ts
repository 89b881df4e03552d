// A guest answers its agent's calls as it likes: no part of an answer has a known shape or size before it was
// checked.

import type { PveBoolean, PveNumber } from "./generated/api.ts";
import { readBoolean, readNumber } from "./lenient.ts";

/** Its members, or none when it is no object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The result of the agent's call, inside of Proxmox' answer. */
export function resultOf(answer: unknown): unknown {
  return asRecord(answer).result;
}

/** The first elements, or none when it is no list. */
export function asList(value: unknown, most: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

/** A text that is no longer than that; null for anything else. */
export function asText(value: unknown, most: number): string | null {
  return typeof value === "string" && value.length <= most ? value : null;
}

/** The number of the process that `agent/exec` has begun; null when the answer has none. */
export function processOf(answer: unknown): number | null {
  return readNumber(asRecord(answer).pid as PveNumber);
}

/** How a process ended, by `agent/exec-status`: -1 without an exit code; null while it runs. */
export function endOf(
  answer: unknown,
): { readonly exitCode: number; readonly output: unknown; readonly errors: unknown } | null {
  const { exited, exitcode, "out-data": output, "err-data": errors } = asRecord(answer);
  if (!readBoolean(exited as PveBoolean)) return null;
  return { exitCode: readNumber(exitcode as PveNumber) ?? -1, output, errors };
}
