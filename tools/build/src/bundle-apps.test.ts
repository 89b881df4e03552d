import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundleApps } from "./bundle-apps.ts";

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

test("a bundle that would not change is left alone", async () => {
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
