import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build, type Plugin, stop } from "esbuild";
import { hashBuildInputs } from "./build-inputs.ts";
import { isCurrent, readBundleStamp, stampOf } from "./bundle-stamp.ts";
import { ownSourceMaps } from "./own-source-maps.ts";
import { activePatches, patchSource, type SourcePatch } from "./source-patch.ts";

const root = resolve(import.meta.dirname, "../../..");

/** The apps that ship as processes, by directory; each has `src/main.ts` and becomes `dist/main.js`. */
export const bundledApps = ["apps/api", "apps/agent", "apps/console", "apps/server", "packages/lab"] as const;

/** CommonJS code in the bundle still expects these three. */
const commonJsNames = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  "const __filename = import.meta.filename;",
  "const __dirname = import.meta.dirname;",
].join("\n");

/**
 * Imports of optional packages that we never install or build: pg's native binding, the loaders with which
 * graphile-worker's command line (not ours) reads configuration files, and ssh2's helpers in C. All of them are tried
 * in a catch.
 */
const external = ["pg-native", "typescript", "cpu-features", "*.node"];

/**
 * Modules that become files of their own beside an app's `main.js`, which imports them when it needs them (the compiled
 * schemas of all answers are a fifth of the API's code, and only test builds, KULE_TEST_BUILD, read them), or which are
 * processes of their own.
 */
const separate: { readonly [app: string]: { readonly [specifier: string]: string } } = {
  "apps/api": { "@kule/contract/validate-response": "packages/contract/src/validate-response.ts" },
  "packages/lab": {
    "@kule/lab/dns/dns-process": "packages/lab/src/dns/dns-process.ts",
    "@kule/lab/certificate-authority/ca-process": "packages/lab/src/certificate-authority/ca-process.ts",
  },
};

/**
 * Builds apps, each unless its inputs are unchanged. One with a `scripts/build.ts` of its own (it has assets)
 * is built by that; the others are bundled for Node 26 to one file each, but for the parts of `separate`, without
 * dependencies and with a source map of our own code next to it. A file is replaced atomically, and only when it changed, so a running
 * process never reads half of one. Under KULE_SOURCE_PATCHES (a test whether a missing line is detected) a
 * bundle with a patched file is built in addition to the real one.
 *
 * @returns the paths of the bundles, in the order of `apps`.
 * @throws Error that lists file, line and text of what could not be built.
 */
export async function bundleApps(apps: readonly string[] = bundledApps): Promise<string[]> {
  try {
    return await Promise.all(apps.map(buildApp));
  } finally {
    // esbuild's own process would stay for as long as ours.
    await stop();
  }
}

async function buildApp(app: string): Promise<string> {
  const patches = activePatches();
  const outfile = outputOf(app, patches);
  const script = join(root, app, "scripts/build.ts");
  if (!existsSync(script)) {
    const plain = outputOf(app, []);
    const stamp = readBundleStamp(join(root, stampFileOf(app)));
    if (stamp !== null && existsSync(join(root, plain)) && isCurrent(root, stamp)) {
      const isPatched = patches.some(({ file }) => Object.hasOwn(stamp.inputs, file));
      if (!isPatched) return plain;
    }
    await bundleApp(app, patches);
    return outfile;
  }
  if (patches.length > 0) {
    // Its own script does not support patches: all of it is built as it is, and then the patched parts a
    // second time.
    await promisify(execFile)(process.execPath, [script, join(root, dirname(outfile))], {
      cwd: join(root, app),
    });
    if (patches.some(({ file }) => file.startsWith(`${app}/browser/`)))
      await buildPatchedAssets(app, join(root, dirname(outfile), "assets"), patches);
    await bundleApp(app, patches);
    return outfile;
  }
  const stamp = join(root, stampFileOf(app));
  const inputs = hashBuildInputs(root, app);
  if (existsSync(join(root, outfile)) && (await readFile(stamp, "utf8").catch(() => "")) === inputs)
    return outfile;
  await promisify(execFile)(process.execPath, [script], { cwd: join(root, app) });
  await writeFile(stamp, inputs);
  return outfile;
}

/** Scripts for browsers, which our processes do not load. */
async function buildPatchedAssets(
  app: string,
  directory: string,
  patches: readonly SourcePatch[],
): Promise<void> {
  type Assets = { buildAssets(directory: string, plugins: readonly Plugin[]): Promise<void> };
  const script = pathToFileURL(join(root, app, "scripts/build-assets.ts")).href;
  const { buildAssets } = (await import(script)) as Assets;
  // In one folder there would be two scripts, and it would be unclear which of them is loaded.
  rmSync(directory, { recursive: true, force: true });
  await buildAssets(directory, [patching(patches)]);
}

/** A patched bundle is a file of its own: the real one may be running at the same time. */
function outputOf(app: string, patches: readonly SourcePatch[]): string {
  if (patches.length === 0) return join(app, "dist/main.js");
  const hash = createHash("sha256").update(JSON.stringify(patches)).digest("hex").slice(0, 12);
  return join(app, `dist/patched-${hash}/main.js`);
}

/** Removes the bundles that were built with these patches. */
export function removePatchedBundles(patches: readonly SourcePatch[]): void {
  for (const app of bundledApps)
    rmSync(dirname(join(root, outputOf(app, patches))), { recursive: true, force: true });
}

const patching = (patches: readonly SourcePatch[]): Plugin => ({
  name: "source patches",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => ({
      contents: patchSource(root, path, await readFile(path, "utf8"), patches),
      loader: path.endsWith("x") ? "tsx" : "ts",
    }));
  },
});

const separating = (specifiers: readonly string[]): Plugin => ({
  name: "separate files",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^@kule\// }, ({ path, kind }) =>
      kind === "dynamic-import" && specifiers.includes(path)
        ? { path: `./${basename(path)}.js`, external: true }
        : undefined,
    );
  },
});

const stampFileOf = (app: string) => join(app, "dist/.inputs");

const isThere = (path: string) => existsSync(join(root, path));

async function bundleApp(app: string, patches: readonly SourcePatch[]): Promise<void> {
  const outfile = join(root, outputOf(app, patches));
  const startedAt = performance.timeOrigin + performance.now();
  const parts = separate[app] ?? {};
  const result = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: ["main.ts", "main.tsx"].map((name) => join(app, "src", name)).find(isThere) ?? app, out: "main" },
      ...Object.entries(parts).map(([specifier, path]) => ({ in: path, out: basename(specifier) })),
    ],
    outdir: dirname(outfile),
    minifySyntax: true,
    // Comments of libraries hold characters beyond Latin-1, and one such character makes V8 keep the whole text with two
    // bytes a character. Lines stay short, so that a place in a stack trace still says something.
    minifyWhitespace: true,
    lineLimit: 160,
    bundle: true,
    write: false,
    platform: "node",
    target: "node26",
    format: "esm",
    mainFields: ["module", "main"],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "hono/jsx",
    banner: { js: commonJsNames },
    external,
    loader: { ".sql": "text", ".css": "text", ".svg": "text", ".woff2": "binary" },
    logLevel: "silent",
    metafile: true,
    plugins: [
      separating(Object.keys(parts)),
      ...(patches.length === 0 ? [] : [patching(patches)]),
      ownSourceMaps,
    ],
  });
  await mkdir(dirname(outfile), { recursive: true });
  // The map first: a process that starts between the two reads a map that is too new, not one that is absent.
  for (const file of result.outputFiles.toSorted((a) => (a.path.endsWith(".map") ? -1 : 1))) {
    if (file.path.endsWith(".js")) requireAscii(file.path, file.contents);
    await replaceFile(file.path, file.contents);
  }
  if (patches.length > 0) return;
  const stamp = stampOf(root, Object.keys(result.metafile.inputs), startedAt);
  if (stamp !== null) await replaceFile(join(root, stampFileOf(app)), Buffer.from(JSON.stringify(stamp)));
}

/** esbuild escapes what is beyond ASCII, but for regular expressions. */
function requireAscii(path: string, contents: Uint8Array): void {
  const at = contents.findIndex((byte) => byte > 127);
  if (at < 0) return;
  const around = Buffer.from(contents.subarray(Math.max(0, at - 60), at + 20)).toString();
  throw new Error(
    `${basename(path)} holds a character beyond ASCII, which makes its text twice as large in memory: write it as \\u… here: ${around}`,
  );
}

async function replaceFile(path: string, contents: Uint8Array): Promise<void> {
  const present = await readFile(path).catch(() => undefined);
  if (present?.equals(contents)) return;
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, contents);
  await rename(draft, path);
}
