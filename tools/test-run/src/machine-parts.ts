import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that suites need, and skip tests without (packages/testing/src/parts.ts). */
const PROGRAMS = [
  "chromium",
  "chromium-headless-shell",
  "faketime",
  "haproxy",
  "ip",
  "keepalived",
  "mawk",
  "mmdebstrap",
  "nft",
  "openssl",
  "pdns_server",
  "pebble",
  "ping",
  "promtool",
  "socat",
  "ssh",
  "sshd",
  "unshare",
];

/**
 * The present ones, as one text: a report from before something was installed is not taken from the cache.
 */
export function machineParts(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = PROGRAMS.filter((name) => folders.some((folder) => existsSync(join(folder, name))));
  return [process.getuid?.() === 0 ? "root" : "user", ...found].join(" ");
}
