import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import subsetFont from "subset-font";

const require = createRequire(import.meta.url);
const root = join(import.meta.dirname, "..");

// Latin, Latin-1 and the letters of Turkish and neighbouring languages. Other text uses the system's font.
const latin = String.fromCodePoint(
  ...Array.from({ length: 0xff - 0x20 }, (_, index) => 0x20 + index + 1),
  0x20,
);
const punctuation = "ıŒœ–—‘’“”„•…€™←↑→↓−≥≤×";
const latinExtended = "ĞğİŞşŠšŽžĀāĒēĪīŌōŪū₺";

/**
 * Builds the browser assets into `directory`: a script, a stylesheet and two font files for all pages, and the parts
 * that only some pages load (`PagePart` in `src/assets.ts`), with a hash of the content in each name.
 *
 * @param plugins of esbuild, for the scripts
 */
export async function buildAssets(directory: string, plugins: readonly Plugin[] = []): Promise<void> {
  const fonts = await mkdtemp(join(tmpdir(), "kule-console-fonts-"));
  try {
    await subsetInter(fonts);
    await mkdir(directory, { recursive: true });
    await build({
      absWorkingDir: root,
      entryPoints: {
        console: "browser/console.ts",
        style: "src/design/console.css",
        domains: "src/design/part-domains.css",
        jobs: "src/design/part-jobs.css",
        networks: "src/design/part-networks.css",
        operator: "src/design/part-operator.css",
        screen: "src/design/part-screen.css",
        usage: "src/design/part-usage.css",
      },
      entryNames: "[name]-[hash]",
      assetNames: "[name]-[hash]",
      outdir: directory,
      bundle: true,
      minify: true,
      format: "iife",
      target: ["chrome125", "firefox128", "safari17.5"],
      loader: { ".woff2": "file" },
      alias: { "kule-fonts": fonts },
      legalComments: "none",
      logLevel: "warning",
      plugins: [...plugins],
    });
    // ES modules: noVNC detects by a top-level await what the browser can decode.
    await build({
      absWorkingDir: root,
      entryPoints: { screen: "browser/console-screen.ts", passkeys: "browser/passkeys.ts" },
      entryNames: "[name]-[hash]",
      outdir: directory,
      bundle: true,
      minify: true,
      format: "esm",
      target: ["chrome125", "firefox128", "safari17.5"],
      legalComments: "none",
      logLevel: "warning",
      plugins: [...plugins],
    });
  } finally {
    await rm(fonts, { recursive: true, force: true });
  }
}

async function subsetInter(directory: string): Promise<void> {
  const wanted = { latin: latin + punctuation, "latin-ext": latinExtended };
  for (const [script, text] of Object.entries(wanted)) {
    const file = require.resolve(`@fontsource-variable/inter/files/inter-${script}-wght-normal.woff2`);
    const subset = await subsetFont(await readFile(file), text, {
      targetFormat: "woff2",
      variationAxes: { wght: { min: 400, max: 700 } },
    });
    await writeFile(join(directory, `inter-${script}.woff2`), subset);
  }
}
