import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAssets } from "../../scripts/build-assets.ts";
import { type Assets, loadAssets } from "../assets.ts";

let built: Promise<Assets> | undefined;

/** The browser assets, built once per test process. */
export function builtAssets(): Promise<Assets> {
  built ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), "kule-console-assets-"));
    try {
      await buildAssets(directory);
      return loadAssets(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  })();
  return built;
}

/** Names of assets that nobody loads, for pages that no browser opens. */
export const noAssets: Assets = {
  scriptPath: "/assets/console-test.js",
  stylePath: "/assets/style-test.css",
  parts: {
    domains: { scriptPath: null, stylePath: "/assets/domains-test.css" },
    jobs: { scriptPath: null, stylePath: "/assets/jobs-test.css" },
    networks: { scriptPath: null, stylePath: "/assets/networks-test.css" },
    operator: { scriptPath: null, stylePath: "/assets/operator-test.css" },
    passkeys: { scriptPath: "/assets/passkeys-test.js", stylePath: null },
    screen: { scriptPath: "/assets/screen-test.js", stylePath: "/assets/screen-test.css" },
    usage: { scriptPath: null, stylePath: "/assets/usage-test.css" },
  },
  fontPath: "/assets/inter-latin-test.woff2",
  handler: (context) => context.notFound(),
};
