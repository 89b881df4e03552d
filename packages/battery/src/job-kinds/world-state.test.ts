import { expect, test } from "vitest";
import { alike, differences } from "./world-state.ts";

const id = (kind: string, letter: string) => `${kind}_${letter.repeat(26)}`;

test("two subjects of the same course have the same text", () => {
  const state = (name: string, letter: string, vmid: number, vlan: number) =>
    alike(
      `${id("srv", letter)} ${id("org", letter)} ${id("srv", letter)} ${name} VM ${vmid} tag=${vlan},x 0A:4B:75:00:00:0${letter} 2026-11-21T09:00:0${letter}.123+00:00`,
      { name },
      vmid,
      vlan,
    );
  expect(state("case-1", "1", 20_001, 100)).toBe(state("case-2", "2", 20_002, 101));
});

test("which row belongs to which is kept", () => {
  const text = (first: string, second: string) =>
    alike(`${id("srv", first)} ${id("srv", second)}`, { name: "x" }, 1, 1);
  expect(text("a", "a")).not.toBe(text("a", "b"));
});

test("differences are the lines that differ, a few of them", () => {
  expect(differences("a\nb\nc", "a\nx\nc")).toEqual(["b against x"]);
  expect(differences("a", "a\nb")).toEqual(["nothing against b"]);
  expect(differences("1\n2\n3\n4\n5\n6\n7", "a\nb\nc\nd\ne\nf\ng")).toHaveLength(5);
  expect(differences("a", "a")).toEqual([]);
});
