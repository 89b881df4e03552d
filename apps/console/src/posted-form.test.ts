import { expect, test } from "vitest";
import type { ConsoleContext } from "./console-context.ts";
import { postedKey, typedNumber } from "./posted-form.ts";

test.each([
  ["12", "12"],
  ["-3", "-3"],
  ["0.5", "0.5"],
  ["ten", '"ten"'],
  ["1e3", '"1e3"'],
  ["", '""'],
  ["12 ", '"12 "'],
])("%j goes into a body as %s, and never as null", (typed, sent) => {
  expect(JSON.stringify(typedNumber(typed))).toBe(sent);
});

const secret = "of this visitor";
const sent = (fields: Readonly<Record<string, string>>, formSecret = secret) => {
  const held = { form: new URLSearchParams(fields), formSecret };
  return postedKey({ get: (name: keyof typeof held) => held[name] } as unknown as ConsoleContext);
};

test("a form that is sent twice has one key, and with other contents another", () => {
  const once = sent({ idempotency_key: "k", form_token: "1", name: "web" });
  expect(once).toMatch(/^k-[0-9a-f]{16}$/);
  expect(sent({ idempotency_key: "k", form_token: "2", name: "web" })).toBe(once);
  expect(sent({ idempotency_key: "k", form_token: "1", name: "db" })).not.toBe(once);
});

test("the key does not let its reader test guesses of the input without the visitor's secret", () => {
  const fields = { idempotency_key: "k", new_password: "correct horse" };
  expect(sent(fields, "of another visitor")).not.toBe(sent(fields));
});

test("a form without a key is a request of its own each time", () => {
  expect(sent({ name: "web" })).not.toBe(sent({ name: "web" }));
});
