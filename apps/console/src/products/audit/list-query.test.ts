import { expect, test } from "vitest";
import { addressOf, auditRequest, readAuditQuery } from "./list-query.ts";

const asked = (address: string) => auditRequest(readAuditQuery(new URLSearchParams(address)));

test("empty or invalid filters are not sent", () => {
  expect(asked("actor=&action=&outcome=perhaps&from=")).toEqual({ ok: true, parameters: {} });
});

test("typed times are UTC, whatever the machine's zone is", () => {
  expect(asked("from=2026-11-21T10:00&to=2026-11-22T00:00:00%2B03:00")).toEqual({
    ok: true,
    parameters: { from: "2026-11-21T10:00:00.000Z", to: "2026-11-21T21:00:00.000Z" },
  });
});

test("an invalid time is named", () => {
  expect(asked("from=yesterday&to=2026-13-40T10:00")).toEqual({ ok: false, wrong: ["from", "to"] });
});

test("a typed id takes precedence over a chosen person, and the address keeps it", () => {
  const query = readAuditQuery(new URLSearchParams("actor=usr_1&actor_id=tok_2&outcome=refused"));
  expect(query.actor).toBe("tok_2");
  expect(addressOf(query).toString()).toBe("actor=tok_2&outcome=refused");
});
