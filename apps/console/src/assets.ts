import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Handler } from "hono";

/** The assets that only some pages load beside the common script and stylesheet, so that the first page stays small. */
export const pageParts = ["domains", "jobs", "networks", "operator", "passkeys", "screen", "usage"] as const;
export type PagePart = (typeof pageParts)[number];

/** The script, stylesheet and fonts that browsers load, held in memory. */
export type Assets = {
  readonly scriptPath: string;
  readonly stylePath: string;
  /** A module, a stylesheet, or both. */
  readonly parts: {
    readonly [part in PagePart]: { readonly scriptPath: string | null; readonly stylePath: string | null };
  };
  /** Preloaded, so that text does not change its font after the first paint. */
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
 * Loads the output of `scripts/build-assets.ts`. What is in its folder `before` is served too: the assets of the release before,
 * for pages that its panel has answered.
 *
 * @throws Error when the directory lacks a script, a stylesheet or one of the parts
 */
export function loadAssets(directory: string): Assets {
  const assets = assetsIn(directory);
  const before = join(directory, "before");
  const served = new Map([...(existsSync(before) ? assetsIn(before) : []), ...assets]);
  const find = (pattern: RegExp) => {
    const name = [...assets.keys()].find((candidate) => pattern.test(candidate));
    return name === undefined ? null : `/assets/${name}`;
  };
  const path = (pattern: RegExp) => {
    const found = find(pattern);
    if (found === null) throw new Error(`${directory} holds no file like ${pattern}`);
    return found;
  };
  const part = (name: PagePart) => {
    const scriptPath = find(new RegExp(`^${name}-.+\\.js$`));
    const stylePath = find(new RegExp(`^${name}-.+\\.css$`));
    if (scriptPath === null && stylePath === null) throw new Error(`${directory} holds nothing of ${name}`);
    return { scriptPath, stylePath };
  };

  return {
    scriptPath: path(/^console-.+\.js$/),
    stylePath: path(/^style-.+\.css$/),
    parts: {
      domains: part("domains"),
      jobs: part("jobs"),
      networks: part("networks"),
      operator: part("operator"),
      passkeys: part("passkeys"),
      screen: part("screen"),
      usage: part("usage"),
    },
    fontPath: path(/^inter-latin-(?!ext).+\.woff2$/),
    handler: (context) => {
      const asset = served.get(context.req.param("name") ?? "");
      if (asset === undefined) return context.notFound();
      const headers: Record<string, string> = {
        "content-type": asset.type,
        // The name contains the content's hash, so the content of a name never changes.
        "cache-control": "public, max-age=31536000, immutable",
        vary: "accept-encoding",
      };
      const accepts = (context.req.header("accept-encoding") ?? "").includes("gzip");
      if (asset.gzipped === null || !accepts) return context.body(new Uint8Array(asset.body), 200, headers);
      return context.body(new Uint8Array(asset.gzipped), 200, { ...headers, "content-encoding": "gzip" });
    },
  };
}

function assetsIn(directory: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(directory)) {
    const type = types[name.split(".").at(-1) ?? ""];
    if (type === undefined) continue;
    const body = readFileSync(join(directory, name));
    assets.set(name, { type, body, gzipped: type.startsWith("text/") ? gzipSync(body) : null });
  }
  return assets;
}
