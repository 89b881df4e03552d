import { RegionFileError } from "./region-file-error.ts";
import type { SchemaCheck } from "./schema-findings.ts";
import { YamlSource } from "./yaml-source.ts";

/**
 * The document of a YAML text that its schema takes, with its defaults filled in.
 *
 * @param path names the file in messages
 * @param example a file to start from
 * @throws RegionFileError with every finding
 */
export function checkedDocument(
  text: string,
  path: string,
  check: SchemaCheck,
  example: string,
): { readonly document: object; readonly source: YamlSource } {
  const source = new YamlSource(text);
  if (source.findings.length > 0) throw new RegionFileError(path, source.findings);
  const document = valueIn(source, path);
  if (document === null || document === undefined)
    throw new RegionFileError(path, [
      { line: 1, column: 1, key: "", message: "the file is empty", fix: `start from ${example}` },
    ]);
  const wrong = check(document, source);
  if (wrong.length > 0) throw RegionFileError.inOrder(path, wrong);
  return { document, source };
}

function valueIn(source: YamlSource, path: string): unknown {
  try {
    return source.toValue();
  } catch (error) {
    // Aliases that multiply beyond any honest use; the library refuses to expand them.
    if (!(error instanceof ReferenceError)) throw error;
    throw new RegionFileError(path, [
      { line: 1, column: 1, key: "", message: "has too many aliases", fix: "write the values out" },
    ]);
  }
}
