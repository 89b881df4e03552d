import { describe, expect, it } from "vitest";
import { shorten } from "./shorten.ts";

const numbers = Array.from({ length: 50 }, (_, index) => index);
const never = () => false;

describe("a failing sequence", () => {
  it("is shortened to the items that make it fail", async () => {
    const fails = async (part: readonly number[]) =>
      part.includes(7) && part.includes(31) && part.indexOf(7) < part.indexOf(31) ? "7 before 31" : null;
    expect(await shorten(numbers, "7 before 31", fails, never)).toEqual({
      sequence: [7, 31],
      failure: "7 before 31",
    });
  });

  it("is shortened to any failing part, whatever its message", async () => {
    const fails = async (part: readonly number[]) =>
      part.some((each) => each > 40) ? `${part.length}` : null;
    const { sequence, failure } = await shorten(numbers, "50", fails, never);
    expect(sequence).toHaveLength(1);
    expect(failure).toBe("1");
  });

  it("stays as it is when every part of it holds, and when there is no time", async () => {
    const whole = async (part: readonly number[]) => (part.length === numbers.length ? "all" : null);
    expect((await shorten(numbers, "all", whole, never)).sequence).toEqual(numbers);
    expect(
      (
        await shorten(
          numbers,
          "all",
          async () => "any",
          () => true,
        )
      ).sequence,
    ).toEqual(numbers);
  });
});
