import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { nodeFilter } from "./node-filter.ts";

const installed = resolve(import.meta.dirname, "../../../infra/proxmox/kule-node-filter.nft");

test("the filter that the tests' labs load on their nodes is the one for operators, word by word", () => {
  const words = readFileSync(installed, "utf8")
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .join("\n");
  expect(words.trim()).toBe(nodeFilter.trim());
});
