import { statSync } from "node:fs";
import { resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { loadedParts } from "@kule/build/loaded-parts";
import type { Row } from "./table.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Megabytes of what each process loads: V8 keeps its text in memory as long as the process runs. */
const limitsMb = { "apps/api": 6, "apps/agent": 2.7, "apps/console": 1.4, "packages/lab": 1 } as const;

export async function bundleRows(): Promise<Row[]> {
  await bundleApps();
  return Object.entries(limitsMb).map(([app, limit]) => {
    const dist = resolve(root, app, "dist");
    const isInParts = app === "apps/api";
    const files = isInParts ? loadedParts(dist, "serve") : ["main.js"];
    const mb = files.reduce((sum, file) => sum + statSync(resolve(dist, file)).size, 0) / 1e6;
    return {
      what: isInParts ? `${app}/dist, what serve loads` : `${app}/dist/main.js`,
      ours: `${mb.toFixed(1)} MB`,
      floor: "–",
      ratio: "–",
      aim: `≤ ${limit} MB`,
      reached: mb <= limit,
    };
  });
}
