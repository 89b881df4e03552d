/** Checks of meaning: the contract is served, tested and still what was released; documents name what exists. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { incompatibilities } from "./compatibility.ts";
import { missingPaths } from "./documented-paths.ts";
import { uncoveredOperations } from "./operation-coverage.ts";

const root = path.join(import.meta.dirname, "../../..");
const read = (file: string) => parse(readFileSync(path.join(root, file), "utf8"));

/** The contract as of the last release tag; it does not exist before the first one. */
const released = "docs/api/released.yaml";

const findings = [
  ...uncoveredOperations(root),
  ...missingPaths(root),
  ...(existsSync(path.join(root, released))
    ? incompatibilities(read(released), read("docs/api/openapi.yaml"))
    : []),
];
for (const finding of findings) console.error(finding);
if (findings.length > 0) process.exitCode = 1;
