import { expect, test } from "vitest";
import {
  askedUsage,
  eventKinds,
  exportParameters,
  readUsageQuery,
  segmentKinds,
  usageParameters,
} from "./usage-query.ts";

test("an address says what usage is narrowed by, and comes back as it was", () => {
  const address = new URLSearchParams("kind=server.started&resource=srv_1&region=ist1&label_selector=a%3Db");
  const query = readUsageQuery(address, eventKinds);
  expect(usageParameters(query).toString()).toBe(address.toString());
  expect(askedUsage(query)).toEqual({
    kind: ["server.started"],
    resource: "srv_1",
    region: "ist1",
    label_selector: "a=b",
  });
});

test("a kind of events is none of segments, and what is empty is not asked for", () => {
  const query = readUsageQuery(new URLSearchParams("kind=server.started&resource=+"), segmentKinds);
  expect(query.kind).toBe("");
  expect(askedUsage(query)).toEqual({});
  expect(usageParameters(query).size).toBe(0);
});

test("a file is of the month and what it was narrowed by, of every kind", () => {
  const query = readUsageQuery(new URLSearchParams("kind=disk.released&region=ist1"), eventKinds);
  const month = { from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z" };
  expect(Object.fromEntries(exportParameters(month, "events", query))).toEqual({
    of: "events",
    region: "ist1",
    ...month,
  });
});
