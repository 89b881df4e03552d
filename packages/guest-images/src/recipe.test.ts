import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readRecipe } from "./recipe.ts";

const folder = mkdtempSync(join(tmpdir(), "kule-recipes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text);
}

const system = { suite: "bookworm", mirrors: ["deb http://mirror.example bookworm main"] };

describe("A recipe", () => {
  test("of the tree names a release, its mirrors, and the guest agent among its packages", () => {
    const recipe = readRecipe("debian-12");
    expect(recipe).toMatchObject({ name: "debian-12", suite: "bookworm" });
    expect(recipe.packages).toEqual(expect.arrayContaining(["cloud-init", "qemu-guest-agent", "systemd"]));
    expect(recipe.packages).not.toContain("ifupdown");
    expect(recipe.mirrors.join("\n")).toContain("bookworm-security");
  });

  test("has the packages and scripts of its base first, and what it does not say itself", () => {
    write("base", {
      "recipe.json": JSON.stringify(system),
      "packages.txt": "# a comment\nsystemd\nudev # another\n",
      "customize.sh": "true",
    });
    write("router", {
      "recipe.json": JSON.stringify({ base: "base" }),
      "packages.txt": "haproxy\nudev\n",
      "customize.sh": "true",
    });
    const recipe = readRecipe("router", folder);
    expect(recipe).toMatchObject({ ...system, packages: ["systemd", "udev", "haproxy"] });
    expect(recipe.scripts).toEqual([join(folder, "base/customize.sh"), join(folder, "router/customize.sh")]);
  });

  test("has another hash after any change of its files or of its base's, and only then", () => {
    write("base", {
      "recipe.json": JSON.stringify(system),
      "packages.txt": "systemd\n",
      "customize.sh": "true",
    });
    write("router", {
      "recipe.json": JSON.stringify({ base: "base" }),
      "packages.txt": "haproxy\n",
      "customize.sh": "",
    });
    const hash = () => readRecipe("router", folder).hash;
    const first = hash();
    expect(hash()).toBe(first);
    write("base", { "customize.sh": "false" });
    const second = hash();
    expect(second).not.toBe(first);
    write("router", { "customize.sh": "true" });
    expect([first, second]).not.toContain(hash());
  });

  test.each([
    ["that does not exist", "nothing", {}, "there is no recipe"],
    ["without a release", "empty", { "recipe.json": "{}" }, "has no suite"],
    ["that is no JSON", "broken", { "recipe.json": "{" }, "broken/recipe.json"],
    ["that is its own base", "loop", { "recipe.json": '{"base":"loop"}' }, "its own base"],
    [
      "with a base outside of the folder",
      "out",
      { "recipe.json": '{"base":"../out"}' },
      "there is no recipe",
    ],
  ])("%s is refused with its name", (_, name, files, text) => {
    if (Object.keys(files).length > 0) write(name, files);
    expect(() => readRecipe(name, folder)).toThrow(text);
  });
});
