import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildAgentBinary } from "./build-agent-binary.ts";
import { architectures, isArchitecture } from "./node-binary.ts";

const usage = `Usage: npm run agent-binary -- [options]

  --architecture x64|arm64   for which machines (default: this one's)
  --folder DIR               where it is put (default: dist/agent)
  --version X.Y.Z            of the build (default: package.json's)
  --release-keys FILE        the publisher's public keys (npm run agent-release -- keygen): without them it never updates itself
  --node FILE                the Node that it is made of (default: node_modules', or npm's package for the architecture)
`;

const root = resolve(import.meta.dirname, "../../../..");
try {
  const { values } = parseArgs({
    options: {
      architecture: { type: "string", default: process.arch },
      folder: { type: "string", default: resolve(root, "dist/agent") },
      node: { type: "string" },
      version: { type: "string" },
      "release-keys": { type: "string" },
      help: { type: "boolean" },
    },
  });
  const { architecture, folder, node, version, "release-keys": releaseKeys, help } = values;
  if (help) process.stdout.write(usage);
  else if (!isArchitecture(architecture))
    throw new Error(`--architecture is one of ${architectures.join(", ")}, not ${architecture}`);
  else {
    const { path, sha256 } = await buildAgentBinary({ architecture, folder, node, version, releaseKeys });
    console.log(`${sha256}  ${path}`);
  }
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 1;
}
