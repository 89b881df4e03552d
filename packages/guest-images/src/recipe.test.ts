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
  test.each([
    ["debian-12", "bookworm"],
    ["debian-13", "trixie"],
    ["ubuntu-24.04", "noble"],
    ["kule-lb", "bookworm"],
  ])("of the tree: %s has the guest agent, cloud-init, no ifupdown, and what a disk needs", (name, suite) => {
    const recipe = readRecipe(name);
    expect(recipe).toMatchObject({ name, suite });
    expect(recipe.packages).toEqual(expect.arrayContaining(["cloud-init", "qemu-guest-agent", "systemd"]));
    expect(recipe.packages).not.toContain("ifupdown");
    expect(recipe.diskPackages).toEqual(expect.arrayContaining(["cloud-guest-utils", "grub-pc"]));
    expect(recipe.diskPackages).toContainEqual(expect.stringMatching(/^linux-image-/));
  });

  test("of an appliance contains the script that applies its states, and what its units need", () => {
    const { files } = readRecipe("kule-lb");
    expect(files).toContainEqual({
      from: expect.stringMatching(/infra\/images\/guest-state\/kule-state$/),
      to: "/usr/local/sbin/kule-state",
      mode: "0755",
    });
    expect(files.map(({ to, mode }) => `${mode} ${to}`)).toEqual([
      "0755 /usr/local/sbin/kule-state",
      "0755 /usr/local/sbin/kule-lb",
      "0644 /usr/local/lib/kule-lb/server-states.awk",
      "0644 /usr/local/lib/kule-lb/status.awk",
      "0755 /usr/local/lib/kule-lb/haproxy-runs",
      "0644 /etc/systemd/system/haproxy.service.d/90-kule.conf",
      "0644 /etc/systemd/system/keepalived.service.d/90-kule.conf",
      "0644 /etc/sysctl.d/90-kule-lb.conf",
    ]);
  });

  test("has another hash when a file changes that it copies", () => {
    writeFileSync(join(folder, "script"), "one");
    const files = [{ from: "../script", to: "/usr/local/sbin/script", mode: "0755" }];
    write("appliance", { "recipe.json": JSON.stringify({ ...system, files }) });
    const first = readRecipe("appliance", folder);
    expect(first.files).toEqual([{ ...files[0], from: join(folder, "script") }]);
    writeFileSync(join(folder, "script"), "two");
    expect(readRecipe("appliance", folder).hash).not.toBe(first.hash);
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
    [
      "that copies a file that is not there",
      "no-file",
      { "recipe.json": JSON.stringify({ ...system, files: [{ from: "x", to: "/x", mode: "0644" }] }) },
      "no-file/x does not exist",
    ],
    [
      "that copies to a place that is none",
      "no-place",
      {
        "recipe.json": JSON.stringify({ ...system, files: [{ from: "x", to: "../x", mode: "0644" }] }),
        x: "x",
      },
      '"to" is an absolute path',
    ],
  ])("%s is refused with its name", (_, name, files, text) => {
    if (Object.keys(files).length > 0) write(name, files);
    expect(() => readRecipe(name, folder)).toThrow(text);
  });
});
