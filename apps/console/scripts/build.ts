import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { buildAssets } from "./build-assets.ts";

// A machine needs only dist/main.js and dist/assets beside Node. Another output directory may be named.
const root = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(root, "dist"));

await rm(dist, { recursive: true, force: true });
await buildAssets(join(dist, "assets"));
await build({
  absWorkingDir: root,
  entryPoints: ["src/main.tsx"],
  outfile: join(dist, "main.js"),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node26",
  jsx: "automatic",
  jsxImportSource: "hono/jsx",
  // Some modules of qrcode load Node's built-in modules by require.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  // As tools/build/src/bundle-apps.ts.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  sourcemap: "linked",
  sourcesContent: false,
  legalComments: "none",
  logLevel: "warning",
});
