import { appendFileSync } from "node:fs";

/** A part of the machine that some suites need, e.g. a browser or root. */
export interface Part {
  missing: boolean;
  /** Why it is missing; empty when it is there. */
  reason: string;
}

/**
 * File that collects, one JSON object a line, what was skipped because a part is missing; `npm test` prints
 * it.
 */
export const skipLogVariable = "KULE_TEST_SKIP_LOG";

/**
 * Checks for a part that not every machine has. The probe returns nothing when it exists, or the reason why
 * it does not. Use: `const chromium = await requirePart("chromium", probeChromium, import.meta.filename)`,
 * then `describe.skipIf(chromium.missing)(…)`.
 *
 * @throws Error when the part is missing and KULE_TEST_REQUIRE is `all` or lists its name (comma-separated).
 */
export async function requirePart(
  name: string,
  probe: () => string | undefined | Promise<string | undefined>,
  suite: string,
): Promise<Part> {
  const reason = await probe();
  if (reason === undefined) return { missing: false, reason: "" };
  const required = (process.env.KULE_TEST_REQUIRE ?? "").split(",").map((part) => part.trim());
  if (required.includes("all") || required.includes(name)) {
    throw new Error(`${name} is required by KULE_TEST_REQUIRE, but ${reason}`);
  }
  return optionalPart(name, reason, suite);
}

/** The same for what no machine can be made to have, such as a history that is not in the clone: never required. */
export function optionalPart(name: string, reason: string | undefined, suite: string): Part {
  if (reason === undefined) return { missing: false, reason: "" };
  const log = process.env[skipLogVariable];
  if (log === undefined) console.warn(`skipped for want of ${name}: ${reason}`);
  else appendFileSync(log, `${JSON.stringify({ suite, part: name, reason })}\n`);
  return { missing: true, reason };
}
