import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { buildAssets } from "./build-assets.ts";

// dist/main.js and dist/assets are all that a machine needs beside Node. Another directory may be named.
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
  // Of qrcode's modules some still ask for Node's own by require.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  sourcemap: true,
  legalComments: "none",
  logLevel: "warning",
});
