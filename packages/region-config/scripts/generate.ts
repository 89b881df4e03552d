// Compiles the schemas of the configuration files to plain functions: Ajv would take 80 ms at every start of an agent.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import standaloneModule from "ajv/dist/standalone/index.js";
import { build } from "esbuild";

const folder = join(import.meta.dirname, "..");
const standaloneCode =
  (standaloneModule as unknown as { default?: typeof standaloneModule }).default ??
  (standaloneModule as unknown as (ajv: Ajv2020, names: Record<string, string>) => string);
const declarations = `// Generated from packages/region-config/schema by scripts/generate.ts. Do not edit.
import type { ErrorObject } from "ajv";

export const validate: ((document: unknown) => boolean) & { errors?: readonly ErrorObject[] | null };
`;

mkdirSync(join(folder, "src/generated"), { recursive: true });
for (const name of ["acme", "dns", "mail", "oidc", "region"]) {
  const schema = JSON.parse(readFileSync(join(folder, `schema/${name}.schema.json`), "utf8")) as object;
  const file = join(folder, `src/generated/validate-${name}`);
  writeFileSync(`${file}.js`, await validatorOf(name, schema));
  writeFileSync(`${file}.d.ts`, declarations);
}

/** Findings name their part of the schema: `x-fix` there says what to write. */
async function validatorOf(name: string, schema: object): Promise<string> {
  const ajv = new Ajv2020({
    code: { source: true, esm: true, lines: false },
    allErrors: true,
    verbose: true,
    useDefaults: true,
    strict: true,
    strictRequired: false,
    strictTypes: false,
    allowUnionTypes: true,
  });
  ajv.addVocabulary(["x-fix"]);
  ajv.addSchema(schema, name);
  // Ajv's code still calls require() for its own helpers.
  const { outputFiles } = await build({
    stdin: {
      contents: standaloneCode(ajv, { validate: name }),
      resolveDir: import.meta.dirname,
      loader: "js",
    },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["main"],
    write: false,
    minify: true,
    legalComments: "none",
  });
  return `// Generated from packages/region-config/schema/${name}.schema.json by scripts/generate.ts. Do not edit.\n${outputFiles[0]?.text ?? ""}`;
}
