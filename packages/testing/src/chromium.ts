import { accessSync, constants } from "node:fs";

// The shell first: the same engine without a browser's windows, in two thirds of the CPU time.
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Path of the machine's Chromium (KULE_CHROMIUM overrules), or undefined. */
export function findChromium(): string | undefined {
  const candidates = process.env.KULE_CHROMIUM === undefined ? places : [process.env.KULE_CHROMIUM];
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Probe for `requirePart("chromium", …)`. */
export function probeChromium(): string | undefined {
  return findChromium() === undefined
    ? "no Chromium found (Debian: apt-get install chromium-headless-shell; elsewhere set KULE_CHROMIUM to its path)"
    : undefined;
}
