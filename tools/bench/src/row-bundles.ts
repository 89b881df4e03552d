import { statSync } from "node:fs";
import { resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import type { Row } from "./table.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Megabytes of what each process loads: V8 keeps its text in memory as long as the process runs. */
const limitsMb = { "apps/api": 6, "apps/agent": 2.7, "apps/console": 1.4, "packages/lab": 1 } as const;

export async function bundleRows(): Promise<Row[]> {
  await bundleApps();
  return Object.entries(limitsMb).map(([app, limit]) => {
    const mb = statSync(resolve(root, app, "dist/main.js")).size / 1e6;
    return {
      what: `${app}/dist/main.js`,
      ours: `${mb.toFixed(1)} MB`,
      floor: "–",
      ratio: "–",
      aim: `≤ ${limit} MB`,
      reached: mb <= limit,
    };
  });
}
