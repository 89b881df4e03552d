import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { requirePart, skipLogVariable } from "./parts.ts";

let scratch: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "kule-parts-"));
  vi.stubEnv(skipLogVariable, join(scratch, "skips"));
  vi.stubEnv("KULE_TEST_REQUIRE", "");
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
});

test("a missing part is noted with the suite and the reason", async () => {
  const part = await requirePart("oven", () => "the kitchen is empty", "bread.test.ts");
  expect(part).toEqual({ missing: true, reason: "the kitchen is empty" });
  expect(JSON.parse(readFileSync(join(scratch, "skips"), "utf8"))).toEqual({
    suite: "bread.test.ts",
    part: "oven",
    reason: "the kitchen is empty",
  });
});

test.each(["all", "flour, oven"])(
  "KULE_TEST_REQUIRE=%s turns a missing part into a failure",
  async (value) => {
    vi.stubEnv("KULE_TEST_REQUIRE", value);
    await expect(requirePart("oven", () => "the kitchen is empty", "bread.test.ts")).rejects.toThrow(
      /kitchen is empty/,
    );
  },
);

test("a part that is there is never a failure", async () => {
  vi.stubEnv("KULE_TEST_REQUIRE", "all");
  expect(await requirePart("oven", () => undefined, "bread.test.ts")).toEqual({ missing: false, reason: "" });
});
