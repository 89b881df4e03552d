/**
 * Turns docs/api/openapi.yaml into everything that the rest of the code uses of the API.
 *
 * node scripts/generate.ts [--contract FILE] [--out DIR]
 *
 * The output is committed; `npm run check` generates again and compares, so that a contract which was edited
 * without generating, or generated code which was edited manually, breaks the build.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import openapiTypescript, { astToString } from "openapi-typescript";
import { parse } from "yaml";
import type { OpenapiDocument } from "./openapi-document.ts";
import { renderOperations } from "./operations.ts";
import { bundleValidators } from "./validators.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    contract: { type: "string", default: path.join(here, "../../../docs/api/openapi.yaml") },
    out: { type: "string", default: path.join(here, "../src/generated") },
  },
});

const banner =
  "// Generated from docs/api/openapi.yaml by packages/contract/scripts/generate.ts. Do not edit.\n";

async function generate(contractFile: string, outDirectory: string): Promise<void> {
  const text = await readFile(contractFile, "utf8");
  const document = parse(text) as OpenapiDocument;
  await mkdir(outDirectory, { recursive: true });
  const write = (name: string, content: string) => writeFile(path.join(outDirectory, name), content);

  const schema = astToString(
    await openapiTypescript(text, {
      alphabetize: false,
      emptyObjectsUnknown: true,
      defaultNonNullable: false,
    }),
  );
  await write("schema.ts", banner + schema);
  await write("operations.ts", banner + renderOperations(document));
  await write(
    "openapi.ts",
    `${banner}/** The contract itself, served as /openapi.json. */\nexport const openapi: Record<string, unknown> = ${JSON.stringify(document)};\n`,
  );
  for (const [name, code] of await bundleValidators(document)) await write(name, banner + code);
}

await generate(values.contract, values.out);
