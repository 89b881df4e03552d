import { expect, test } from "vitest";
import { judgeReportedKey, mayTakeSecret } from "./agent-key.ts";

const nothing = { inUse: null, pending: null, pendingAgeSeconds: null };

test("The first key that a region reports is in use; another one waits", () => {
  expect(judgeReportedKey("a", nothing)).toBe("first");
  expect(judgeReportedKey("a", { ...nothing, inUse: "a" })).toBe("in_use");
  expect(judgeReportedKey("b", { ...nothing, inUse: "a" })).toBe("wait");
});

test("One key is pending at a time, until it is no longer reported", () => {
  const waiting = { inUse: "a", pending: "b", pendingAgeSeconds: 20 };
  expect(judgeReportedKey("b", waiting)).toBe("again");
  expect(judgeReportedKey("c", waiting)).toBe("aside");
  expect(judgeReportedKey("c", { ...waiting, pendingAgeSeconds: 61 })).toBe("wait");
  expect(judgeReportedKey("a", waiting)).toBe("in_use");
});

test("A secret goes to an agent with the key; an agent that names none is judged by the region's reports", () => {
  const facts = { inUse: "a", claimed: null, inUseAgeSeconds: 5, pendingAgeSeconds: 5 };
  expect(mayTakeSecret({ ...facts, claimed: "a" })).toBe(true);
  expect(mayTakeSecret({ ...facts, claimed: "b" })).toBe(false);
  expect(mayTakeSecret(facts)).toBe(true);
  expect(mayTakeSecret({ ...facts, inUseAgeSeconds: 61 })).toBe(false);
  expect(mayTakeSecret({ ...facts, inUseAgeSeconds: 61, pendingAgeSeconds: null })).toBe(true);
  expect(mayTakeSecret({ ...facts, inUseAgeSeconds: 61, pendingAgeSeconds: 3600 })).toBe(true);
  expect(mayTakeSecret({ ...facts, inUse: null, claimed: "b" })).toBe(true);
});
