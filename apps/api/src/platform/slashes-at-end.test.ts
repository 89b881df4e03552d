import { expect, test } from "vitest";
import { withoutSlashesAtEnd } from "./slashes-at-end.ts";

test("only the slashes at the end go", () => {
  for (const [text, left] of [
    ["/a//b//", "/a//b"],
    ["/a", "/a"],
    ["//", ""],
    ["", ""],
  ] as const)
    expect(withoutSlashesAtEnd(text)).toBe(left);
});
