import { relative, resolve } from "node:path";
import { bundleApps, bundledApps } from "./bundle-apps.ts";

// `build` scripts run in their package, whose directory names it; without arguments all are built.
const root = resolve(import.meta.dirname, "../../..");
const asked = process.argv.slice(2).map((directory) => relative(root, resolve(directory)));
try {
  for (const bundle of await bundleApps(asked.length > 0 ? asked : bundledApps)) console.log(bundle);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
