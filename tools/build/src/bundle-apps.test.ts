import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundleApps } from "./bundle-apps.ts";
import { patchesVariable } from "./source-patch.ts";

const root = resolve(import.meta.dirname, "../../..");
let app: string;

beforeEach(() => {
  app = realpathSync(mkdtempSync(join(tmpdir(), "kule-app-")));
  mkdirSync(join(app, "src"));
  writeFileSync(join(app, "src/legacy.cjs"), 'exports.place = require("node:path").basename(__dirname);\n');
  writeFileSync(join(app, "src/text.sql"), "select 1");
  writeFileSync(
    join(app, "src/main.ts"),
    'import { place } from "./legacy.cjs";\nimport query from "./text.sql";\nconst word: string = place;\nconsole.log(word, query);\n',
  );
});

afterEach(() => rmSync(app, { recursive: true, force: true }));

test("a bundle runs by itself, CommonJS and text files included", async () => {
  await bundleApps([relative(root, app)]);
  rmSync(join(app, "src"), { recursive: true });
  expect(execFileSync(process.execPath, [join(app, "dist/main.js")], { encoding: "utf8" })).toBe(
    "dist select 1\n",
  );
});

test("a bundle is ASCII: comments go, strings are escaped, and a regular expression is refused", async () => {
  const text = () => readFileSync(join(app, "dist/main.js"), "latin1");
  writeFileSync(join(app, "src/main.ts"), '// It’s a comment.\nconsole.log("İstanbul");\n');
  await bundleApps([relative(root, app)]);
  expect(text()).toContain("\\u0130stanbul");
  expect(text()).not.toMatch(/[^\0-\x7f]/);
  writeFileSync(join(app, "src/main.ts"), 'console.log(/[＝]/u.test("a"));\n');
  await expect(bundleApps([relative(root, app)])).rejects.toThrow(/beyond ASCII.*write it as \\u.*[＝]/s);
});

test("the console's bundle, which has a build of its own, is ASCII too", async () => {
  const [file = ""] = await bundleApps(["apps/console"]);
  expect(readFileSync(resolve(root, file), "latin1")).not.toMatch(/[^\0-\x7f]/);
});

test("a bundle is built again when one of its files changed, and not otherwise", async () => {
  const output = () => execFileSync(process.execPath, [join(app, "dist/main.js")], { encoding: "utf8" });
  await bundleApps([relative(root, app)]);
  // What is not built again keeps whatever is in it.
  writeFileSync(join(app, "dist/main.js"), 'console.log("kept");');
  await bundleApps([relative(root, app)]);
  expect(output()).toBe("kept\n");
  writeFileSync(join(app, "src/text.sql"), "select 2");
  await bundleApps([relative(root, app)]);
  expect(output()).toBe("dist select 2\n");
  rmSync(join(app, "dist/main.js"));
  await bundleApps([relative(root, app)]);
  expect(output()).toBe("dist select 2\n");
  writeFileSync(join(app, "dist/.inputs"), "{");
  writeFileSync(join(app, "dist/main.js"), 'console.log("kept");');
  await bundleApps([relative(root, app)]);
  expect(output()).toBe("dist select 2\n");
});

test("a bundle whose files change while it is built has no stamp", async () => {
  const name = relative(root, app);
  await bundleApps([name]);
  const soon = new Date(Date.now() + 60_000);
  writeFileSync(join(app, "src/text.sql"), "select 3");
  utimesSync(join(app, "src/text.sql"), soon, soon);
  const stamp = () => readFileSync(join(app, "dist/.inputs"), "utf8");
  const before = stamp();
  await bundleApps([name]);
  expect(stamp()).toBe(before);
  expect(readFileSync(join(app, "dist/main.js"), "utf8")).toContain("select 3");
});

test("a bundle without a patched file is the real one", async () => {
  const name = relative(root, app);
  const patch = (file: string, find: string, replace: string) => {
    const path = join(app, "patches.json");
    writeFileSync(path, JSON.stringify([{ file, find, replace }]));
    process.env[patchesVariable] = path;
  };
  await bundleApps([name]);
  try {
    patch("tools/build/src/bundle-apps.ts", "no", "matter");
    expect(await bundleApps([name])).toEqual([join(name, "dist/main.js")]);
    patch(join(name, "src/main.ts"), "(word, query)", '("patched")');
    const [bundle = ""] = await bundleApps([name]);
    expect(bundle).toMatch(/dist\/patched-/);
    expect(execFileSync(process.execPath, [join(root, bundle)], { encoding: "utf8" })).toBe("patched\n");
  } finally {
    delete process.env[patchesVariable];
  }
});

test("a source map has our own code, and one place of each dependency", async () => {
  const long = Array.from({ length: 200 }, (_, n) => `exports.value${n} = ${n};\n`).join("");
  mkdirSync(join(app, "node_modules/other"), { recursive: true });
  writeFileSync(join(app, "node_modules/other/index.js"), long);
  writeFileSync(
    join(app, "src/main.ts"),
    'import { value7 } from "../node_modules/other/index.js";\nconst one: number = value7;\nthrow new Error(String(one));\n',
  );
  await bundleApps([relative(root, app)]);
  const map = JSON.parse(readFileSync(join(app, "dist/main.js.map"), "utf8")) as { mappings: string };
  expect(map.mappings.length).toBeLessThan(400);
  const run = spawnSync(process.execPath, ["--enable-source-maps", join(app, "dist/main.js")], {
    encoding: "utf8",
  });
  expect(run.stderr).toMatch(/src\/main\.ts:3:7/);
});

test("an unchanged bundle is not written", async () => {
  await bundleApps([relative(root, app)]);
  const before = statSync(join(app, "dist/main.js"), { bigint: true });
  await bundleApps([relative(root, app)]);
  expect(statSync(join(app, "dist/main.js"), { bigint: true })).toMatchObject({
    ino: before.ino,
    mtimeNs: before.mtimeNs,
  });
});

test("an import that leads nowhere is an error that names the file", async () => {
  writeFileSync(join(app, "src/main.ts"), 'import "./absent.ts";\n');
  await expect(bundleApps([relative(root, app)])).rejects.toThrow(/src\/main\.ts.*absent\.ts/);
});

test("an app with a build of its own is built by it, and again only when its inputs changed", async () => {
  mkdirSync(join(app, "scripts"));
  writeFileSync(
    join(app, "scripts/build.ts"),
    'import { appendFileSync, mkdirSync } from "node:fs";\nmkdirSync("dist", { recursive: true });\nappendFileSync("dist/main.js", "// built\\n");\n',
  );
  const built = () => readFileSync(join(app, "dist/main.js"), "utf8");
  await bundleApps([relative(root, app)]);
  await bundleApps([relative(root, app)]);
  expect(built()).toBe("// built\n");
  writeFileSync(join(app, "src/text.sql"), "select 2");
  await bundleApps([relative(root, app)]);
  expect(built()).toBe("// built\n// built\n");
});

test("the API's schemas of answers are in a file of their own, which only test builds load", async () => {
  await bundleApps(["apps/api"]);
  const [main = "", answers = ""] = ["main.js", "validate-response.js"].map((name) =>
    readFileSync(join(root, "apps/api/dist", name), "utf8"),
  );
  const answer = "listServers_200";
  expect(answers).toContain(answer);
  expect(main).not.toContain(answer);
  expect(main).toContain('import("./validate-response.js")');
});
