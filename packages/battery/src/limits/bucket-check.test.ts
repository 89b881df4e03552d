import { expect, test } from "vitest";
import { bucketViolations, refusalViolations } from "./bucket-check.ts";

const accepted = { status: 200, headers: {}, text: "{}", ms: 1 };
const refused = {
  status: 429,
  headers: { "retry-after": "1", "content-type": "application/problem+json" },
  text: '{"code":"rate_limited"}',
  ms: 1,
};
const bucket = { burst: 3, perHour: 3600 };
const judge = (answers: (typeof accepted | typeof refused)[], seconds = 0) =>
  bucketViolations("calls", answers, bucket, seconds);

test("the burst and the refill in between are right", () => {
  expect(judge([accepted, accepted, accepted, refused])).toEqual([]);
  expect(judge([accepted, accepted, accepted, accepted, accepted, refused], 1)).toEqual([]);
});

test("more than that is wrong, and so is less, and so is a limit that was not reached", () => {
  expect(judge(Array(6).fill(accepted))[0]).toContain("6 were accepted");
  expect(judge([accepted, refused, refused, refused])[0]).toContain("only 1");
  expect(judge([accepted])).toEqual(["calls: the limit was never reached by 1"]);
});

test("a refusal without a time to retry is wrong", () => {
  expect(refusalViolations("calls", refused)).toEqual([]);
  for (const value of ["0", "soon", ""])
    expect(
      refusalViolations("calls", { ...refused, headers: { ...refused.headers, "retry-after": value } }),
    ).toHaveLength(1);
  expect(refusalViolations("calls", { ...refused, text: "slow down" })).toHaveLength(1);
});
