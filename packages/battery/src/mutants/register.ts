// Preloaded (node --import) when a row runs against a mutant: what this process imports is patched as it is loaded.

import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { activePatches, patchSource } from "@kule/build/source-patch";

const root = resolve(import.meta.dirname, "../../../..");
const patches = activePatches();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith("file:") || url.includes("/node_modules/") || loaded.source == null) return loaded;
    const source =
      typeof loaded.source === "string"
        ? loaded.source
        : Buffer.from(loaded.source as Uint8Array).toString("utf8");
    return { ...loaded, source: patchSource(root, fileURLToPath(url), source, patches) };
  },
});
