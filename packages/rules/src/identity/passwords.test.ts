import { describe, expect, test } from "vitest";
import { passwordDefect } from "./passwords.ts";

const ada = { email: "ada.lovelace@example.org", name: "Ada Lovelace" };

describe("a password", () => {
  test.each([
    ["seven brave otters", null],
    ["kırmızı şemsiyeler", null],
    ["elevenchars", "too_short"],
    ["🗼🗼🗼🗼🗼", "too_short"],
    ["aaaaaaaaaaaaaaaa", "too_few_different"],
    ["abababababababab", "too_few_different"],
    ["ada.lovelace@example.org1", "says_who_you_are"],
    ["AdaLovelace2026", "says_who_you_are"],
    ["kulepassword123", "says_who_you_are"],
    ["lovelace swims in the sea", null],
  ])("%s: %s", (password, defect) => {
    expect(passwordDefect(password, ada)).toBe(defect);
  });
});
