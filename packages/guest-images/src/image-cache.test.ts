import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { builtRoot, imageSettings, rootFileSystem } from "./image-cache.ts";
import { cannotBuild, cannotBuildDisks } from "./missing-tools.ts";
import { readRecipe } from "./recipe.ts";

const folder = mkdtempSync(join(tmpdir(), "kule-images-"));
const images = join(folder, "images");
const programs = join(folder, "bin");
const path = process.env.PATH ?? "";
const isRoot = process.getuid?.() === 0;
const name = "debian-12";

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(programs, { recursive: true });
  process.env.PATH = `${programs}:${path}`;
});
afterAll(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true, force: true });
});

/** A builder that takes no minute; its last words but the mirror are the release and the archive. */
function mmdebstrap(script: string): void {
  writeFileSync(
    join(programs, "mmdebstrap"),
    `#!/bin/sh\nfor word; do case "$word" in *root.tar) archive=$word;; esac; done\n${script}\n`,
  );
  chmodSync(join(programs, "mmdebstrap"), 0o755);
}
const makesOne = `echo "I: installing packages" >&2; mkdir -p "$TMPDIR/t/etc"; echo made > "$TMPDIR/t/etc/made"; tar -C "$TMPDIR/t" -cf "$archive" .; echo one >> ${folder}/runs`;
const made = (said: string[] = []) => rootFileSystem(name, (step) => said.push(step), { folder: images });

describe.skipIf(!isRoot)("The image of a recipe", { timeout: 20_000 }, () => {
  test("is made once, says its steps, and is there for the next one", async () => {
    mmdebstrap(makesOne);
    const said: string[] = [];
    const root = await made(said);
    expect(existsSync(join(root, "etc/made"))).toBe(true);
    expect(said).toEqual(["installing packages", "unpacking"]);
    expect(await made()).toBe(root);
    expect(builtRoot(name, { folder: images })).toBe(root);
    expect(readdirSync(images).filter((entry) => !entry.startsWith("."))).toEqual([
      `${name}-${readRecipe(name).hash}`,
    ]);
  });

  test("is made by one of several that want it at once", async () => {
    mmdebstrap(`sleep 0.7; ${makesOne}`);
    const said: string[] = [];
    const roots = await Promise.all([made(said), made(said)]);
    expect(roots[0]).toBe(roots[1]);
    expect(said).toContain("another process makes it; waiting for that");
    expect(said.filter((step) => step === "unpacking")).toHaveLength(1);
  });

  test("is whole or not there: a builder that fails leaves nothing, and says why", async () => {
    mmdebstrap('echo "E: Could not resolve deb.debian.org" >&2; echo half > "$archive"; exit 25');
    await expect(made()).rejects.toThrow(/mmdebstrap ended with 25:\n.*Could not resolve deb\.debian\.org/);
    expect(readdirSync(images).filter((entry) => !entry.endsWith(".lock"))).toEqual([]);
    mmdebstrap(makesOne);
    expect(existsSync(await made())).toBe(true);
  });

  test("belongs to accounts that no person of the machine has", async () => {
    mmdebstrap(makesOne);
    expect(statSync(join(await made(), "etc/made")).uid).toBeGreaterThan(65_536 * 100);
  });
});

test("A machine without the programs is told what to install", async () => {
  if (!isRoot) return expect(await cannotBuild()).toBe("it needs root");
  expect(await cannotBuild({ PATH: programs })).toContain("apt-get install mmdebstrap tar util-linux");
  expect(await cannotBuildDisks({ PATH: programs })).toContain(
    "apt-get install mmdebstrap libguestfs-tools qemu-utils qemu-system-x86",
  );
});

test("Images are kept in the cache of the person, or where a setting says", () => {
  expect(imageSettings({ HOME: "/nowhere", XDG_CACHE_HOME: "/cache" }).folder).toBe("/cache/kule/images");
  expect(imageSettings({ KULE_IMAGES_DIR: "/srv/images", KULE_IMAGES_MIRROR: "http://m" })).toEqual({
    folder: "/srv/images",
    mirror: "http://m",
  });
});
