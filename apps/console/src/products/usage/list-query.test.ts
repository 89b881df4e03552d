import { expect, test } from "vitest";
import {
  eventKinds,
  exportParameters,
  readUsageQuery,
  segmentKinds,
  usageParameters,
  usageRequestParameters,
} from "./list-query.ts";

test("an address contains the filters of usage, and survives a round trip", () => {
  const address = new URLSearchParams("kind=server.started&resource=srv_1&region=ist1&label_selector=a%3Db");
  const query = readUsageQuery(address, eventKinds);
  expect(usageParameters(query).toString()).toBe(address.toString());
  expect(usageRequestParameters(query)).toEqual({
    kind: ["server.started"],
    resource: "srv_1",
    region: "ist1",
    label_selector: "a=b",
  });
});

test("a kind of events is no kind of segments, and empty filters are not sent", () => {
  const query = readUsageQuery(new URLSearchParams("kind=server.started&resource=+"), segmentKinds);
  expect(query.kind).toBe("");
  expect(usageRequestParameters(query)).toEqual({});
  expect(usageParameters(query).size).toBe(0);
});

test("a file has the month and the filters, of every kind", () => {
  const query = readUsageQuery(new URLSearchParams("kind=disk.released&region=ist1"), eventKinds);
  const month = { from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z" };
  expect(Object.fromEntries(exportParameters(month, "events", query))).toEqual({
    of: "events",
    region: "ist1",
    ...month,
  });
});
