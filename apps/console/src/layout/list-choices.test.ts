import { describe, expect, test } from "vitest";
import {
  chosen,
  columnsOf,
  isListId,
  type ListId,
  mostRows,
  readListChoices,
  rowCountsOf,
  rowsOf,
  shownColumns,
  writeListChoices,
} from "./list-choices.ts";

const names = ["servers", "networks", "jobs", "audit"] as const satisfies readonly ListId[];

describe("the list settings of a browser", () => {
  test.each(names)("%s: the defaults are a valid page size, and columns that the list has", (list) => {
    expect(rowCountsOf(list)).toContain(rowsOf({}, list));
    expect(columnsOf(list)).toEqual(expect.arrayContaining([...shownColumns({}, list)]));
    expect(shownColumns({}, list).length).toBeGreaterThan(3);
  });

  test("by default all columns are shown but those that are hidden by default", () => {
    expect(shownColumns({}, "servers")).toEqual(columnsOf("servers"));
    expect(shownColumns({}, "subnets")).not.toContain("created");
    const asked = { subnets: chosen("subnets", null, ["created"]) };
    expect(shownColumns(asked, "subnets")).toEqual(["created"]);
    expect(shownColumns(readListChoices(writeListChoices(asked)), "subnets")).toEqual(["created"]);
  });

  test("are read as they were written, an empty table too", () => {
    const choices = {
      servers: chosen("servers", "200", ["region", "status"]),
      jobs: chosen("jobs", "50", []),
      networks: chosen("networks", "50", []),
    };
    const read = readListChoices(writeListChoices(choices));
    expect(read).toEqual(choices);
    expect(shownColumns(read, "servers")).toEqual(["status", "region"]);
    expect(shownColumns(read, "jobs")).toEqual([]);
    expect(rowsOf(read, "networks")).toBe(50);
    expect(rowsOf(read, "audit")).toBe(rowsOf({}, "audit"));
  });

  test("are kept for each list alone, and a stored page size without columns uses the default columns", () => {
    const read = readListChoices("servers.100");
    expect(rowsOf(read, "servers")).toBe(100);
    expect(shownColumns(read, "servers")).toEqual(columnsOf("servers"));
    expect(rowsOf(read, "jobs")).not.toBe(100);
  });

  test.each([
    undefined,
    "",
    "~~..~.",
    "servers",
    "servers.1000000",
    "servers.-1.",
    "servers.NaN",
    "networks.200",
    "constructor.50.status",
    "__proto__.50.status",
    "<script>.50",
    `servers.50${".x".repeat(5000)}`,
    "%00%ff.%7e",
  ])("%j does nothing bad: rows and columns are those of the lists", (cookie) => {
    const read = readListChoices(cookie);
    expect(Object.keys(read).every(isListId)).toBe(true);
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    for (const list of names) {
      expect(rowCountsOf(list)).toContain(rowsOf(read, list));
      expect(rowsOf(read, list)).toBeLessThanOrEqual(mostRows);
      for (const column of shownColumns(read, list)) expect(columnsOf(list)).toContain(column);
    }
    expect(writeListChoices(read).length).toBeLessThan(500);
  });
});
