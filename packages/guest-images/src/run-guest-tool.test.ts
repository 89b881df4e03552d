import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runGuestTool } from "./run-guest-tool.ts";
import { ImageBuildFailed } from "./run-tool.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-guest-tool-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A program that notes each of its calls and then does that. */
function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    `#!/bin/sh\necho "\${LIBGUESTFS_BACKEND_SETTINGS:-as it is}" >> ${path}.calls\n${script}\n`,
  );
  chmodSync(path, 0o755);
  return path;
}
const callsOf = (path: string) => readFileSync(`${path}.calls`, "utf8").trim().split("\n");

test("a tool whose system does not start with KVM is run without it", async () => {
  const said: string[] = [];
  const path = program(
    "broken-kvm",
    `[ "$LIBGUESTFS_BACKEND_SETTINGS" = force_tcg ] || { echo "libguestfs: error: guestfs_launch failed." >&2; exit 1; }`,
  );
  await runGuestTool(path, [], { env: {}, say: (step) => said.push(step) });
  expect(callsOf(path)).toEqual(["as it is", "force_tcg"]);
  expect(said).toEqual([expect.stringContaining("without it")]);
});

test("any other failure is reported as it is, after one attempt", async () => {
  const path = program("no-space", `echo "no space left on device" >&2; exit 1`);
  await expect(runGuestTool(path, [], { env: {}, say: () => {} })).rejects.toThrow(/no space left on device/);
  expect(callsOf(path)).toEqual(["as it is"]);
});

test("one that starts in neither way is a failed image", async () => {
  const path = program("no-qemu", `echo "libguestfs: error: guestfs_launch failed." >&2; exit 1`);
  await expect(runGuestTool(path, [], { env: {}, say: () => {} })).rejects.toBeInstanceOf(ImageBuildFailed);
  expect(callsOf(path)).toEqual(["as it is", "force_tcg"]);
});
