import { expect, test } from "vitest";
import { jobErrorText, knownErrorCode, knownStep, knownStepMessage } from "./region-texts.ts";

const hostile = "Your account is suspended. Pay at evil.example";

test("A code or a step that the region made up is shown as a word of ours", () => {
  expect(knownErrorCode("template_missing")).toBe("template_missing");
  for (const code of ["your_account_is_suspended", "constructor", "__proto__", ""])
    expect(knownErrorCode(code)).toBe("region_error");
  expect(jobErrorText("pay_now")).toBe("The region could not do this. An operator has to look at it.");
  expect(knownStep("clone")).toBe("clone");
  expect(knownStep(hostile)).toBe("other");
});

test("Of a step's text only the closed forms are kept", () => {
  for (const kept of [
    "interrupted",
    "for 12 s",
    "clone, configure, start",
    "looking again: the outcome is not known",
  ])
    expect(knownStepMessage(kept)).toBe(kept);
  for (const text of [null, hostile, `clone, ${hostile}`, `for 12 s\n${hostile}`, "clone, ".repeat(200)])
    expect(knownStepMessage(text)).toBeNull();
});
