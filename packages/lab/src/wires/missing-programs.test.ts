import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { missingPrograms } from "./missing-programs.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kule-programs-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function install(...names: string[]): void {
  for (const name of names) {
    writeFileSync(join(directory, name), "#!/bin/sh\n");
    chmodSync(join(directory, name), 0o755);
  }
}

test("missing programs are named with their packages", async () => {
  install("ip");
  expect(await missingPrograms(directory)).toBe(
    "nft, nsenter, setpriv are not installed; on Debian or Ubuntu: apt-get install nftables util-linux",
  );
  install("nsenter", "setpriv");
  expect(await missingPrograms(directory)).toBe(
    "nft is not installed; on Debian or Ubuntu: apt-get install nftables",
  );
  install("nft");
  expect(await missingPrograms(directory)).toBeUndefined();
});
