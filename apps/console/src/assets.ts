import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Handler } from "hono";

/** The script, stylesheet and fonts that browsers load, held in memory. */
export type Assets = {
  readonly scriptPath: string;
  /** A module, on the pages of consoles alone: terminal and screen. */
  readonly screenPath: string;
  readonly stylePath: string;
  /** Fetched early so that text does not change its look after it was painted. */
  readonly fontPath: string;
  readonly handler: Handler;
};

type Asset = { readonly type: string; readonly body: Buffer; readonly gzipped: Buffer | null };

const types: { readonly [extension: string]: string | undefined } = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
};

/**
 * Loads what `scripts/build-assets.ts` made.
 *
 * @throws Error when the directory does not hold a script and a stylesheet
 */
export function loadAssets(directory: string): Assets {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(directory)) {
    const type = types[name.split(".").at(-1) ?? ""];
    if (type === undefined) continue;
    const body = readFileSync(join(directory, name));
    assets.set(name, { type, body, gzipped: type.startsWith("text/") ? gzipSync(body) : null });
  }
  const path = (pattern: RegExp) => {
    const name = [...assets.keys()].find((candidate) => pattern.test(candidate));
    if (name === undefined) throw new Error(`${directory} holds no file like ${pattern}`);
    return `/assets/${name}`;
  };

  return {
    scriptPath: path(/^console-.+\.js$/),
    screenPath: path(/^screen-.+\.js$/),
    stylePath: path(/^style-.+\.css$/),
    fontPath: path(/^inter-latin-(?!ext).+\.woff2$/),
    handler: (context) => {
      const asset = assets.get(context.req.param("name") ?? "");
      if (asset === undefined) return context.notFound();
      const headers: Record<string, string> = {
        "content-type": asset.type,
        // The name holds the content's hash, so what a name stands for never changes.
        "cache-control": "public, max-age=31536000, immutable",
        vary: "accept-encoding",
      };
      const accepts = (context.req.header("accept-encoding") ?? "").includes("gzip");
      if (asset.gzipped === null || !accepts) return context.body(new Uint8Array(asset.body), 200, headers);
      return context.body(new Uint8Array(asset.gzipped), 200, { ...headers, "content-encoding": "gzip" });
    },
  };
}
