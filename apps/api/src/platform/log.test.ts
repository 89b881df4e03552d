import pg from "pg";
import { expect, test } from "vitest";
import { describeError } from "./log.ts";

test("an error is logged with its type and its stack, and without the row that it quotes", () => {
  const error = Object.assign(new pg.DatabaseError("violates a check", 1, "error"), {
    code: "23514",
    table: "app_user",
    detail: "Failing row contains ($argon2id$secret)",
    client: { values: ["secret"] },
  });
  const described = describeError(new Error("could not write", { cause: error }));
  expect(described).toMatchObject({
    type: "Error",
    message: "could not write",
    cause: { type: "DatabaseError", message: "violates a check", code: "23514", table: "app_user" },
  });
  expect(JSON.stringify(described)).not.toContain("secret");
  expect(described.stack).toContain("log.test.ts");
});

test("a thrown value that is no error is not logged, and an endless chain of causes is cut", () => {
  expect(describeError("secret")).toEqual({ type: "string" });
  const error = new Error("round and round");
  error.cause = error;
  expect(JSON.stringify(describeError(error)).length).toBeLessThan(20_000);
});
