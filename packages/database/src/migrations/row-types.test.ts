import { describe, expect, it } from "vitest";
import { retiredUses } from "./retired-uses.ts";
import { knownTables, withoutRetired } from "./row-types.ts";

const types = `
export interface Region {
  name: string;
  slug: Generated<string>;
}

export interface Server {
  id: string;
  note: string | null;
}

export interface DB {
  region: Region;
  server: Server;
}
`;

describe("the row types", () => {
  it("name the tables and columns that the code knows", () => {
    expect(knownTables(types)).toEqual({ region: ["name", "slug"], server: ["id", "note"] });
  });

  it("leave out what is retired", () => {
    const left = withoutRetired(types, ["server.note", "region"]);
    expect(knownTables(left)).toEqual({ server: ["id"] });
    expect(left).not.toMatch(/note|region/i);
  });

  it("are not made with a retired name that the database does not have", () => {
    expect(() => withoutRetired(types, ["server.remark"])).toThrow("server.remark");
    expect(() => withoutRetired(types, ["machine"])).toThrow("machine");
  });
});

it("a statement in text may not name what is retired", () => {
  const files = new Map([
    ["a.ts", "select note from server"],
    ["b.ts", "select note from region"],
    ["c.ts", "select id, note_of from server"],
  ]);
  expect(retiredUses(["server.note"], files)).toEqual([
    "server.note is retired and may not be used any more: a.ts names it",
  ]);
});
