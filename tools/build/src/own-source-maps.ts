import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** A map of the first character alone: esbuild passes it on in place of one of all lines. */
const EMPTY_MAP = Buffer.from('{"version":3,"sources":[""],"mappings":"AAAA"}').toString("base64");

/**
 * Leaves dependencies and generated validators out of the source map. Node reads the whole map when it first prints a
 * stack: with them that takes several times the time and the memory.
 */
export const ownSourceMaps: Plugin = {
  name: "source maps of own code",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/](node_modules|generated)[\\/].*\.[cm]?js$/ }, async ({ path }) => ({
      contents: `${await readFile(path, "utf8")}\n//# sourceMappingURL=data:application/json;base64,${EMPTY_MAP}`,
      loader: "default",
    }));
  },
};
