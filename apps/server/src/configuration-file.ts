import { nearestName } from "@kule/region-config/nearest-name";
import { RegionFileError, type RegionFileFinding } from "@kule/region-config/region-file-error";
import { fileVariableOf, mayBeInFile, type Variable } from "./variables.ts";

/** A value of the file, and its line, for what is found out about it later. */
export type Entry = { readonly value: string; readonly line: number };
export type Entries = ReadonlyMap<string, Entry>;

/**
 * Reads a configuration file: lines of `NAME=value`, and comments that begin with #. A value may be in quotes, as systemd and
 * shells take it. Nothing is expanded.
 *
 * @param path names the file in messages
 * @throws RegionFileError with every line that cannot be read
 */
export function readEntries(text: string, path: string): Entries {
  const entries = new Map<string, Entry>();
  const findings: RegionFileFinding[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const place = { line: index + 1, column: raw.length - raw.trimStart().length + 1 };
    const find = (key: string, message: string, fix: string) =>
      findings.push({ ...place, key, message, fix });
    const [, name = "", written = ""] = /^([A-Za-z_]\w*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name === "") {
      // What stands there may be a secret: it is not quoted.
      const fix = line.startsWith("export ")
        ? "remove the word export"
        : "write NAME=value, or # in front of it";
      find("", "is no line of NAME=value", fix);
      continue;
    }
    const first = entries.get(name);
    const value = unquoted(written);
    if (first !== undefined) find(name, `is set twice, first in line ${first.line}`, "remove one of the two");
    else if (typeof value === "string") entries.set(name, { value, line: place.line });
    else find(name, value.message, value.fix);
  }
  if (findings.length > 0) throw new RegionFileError(path, findings);
  return entries;
}

function unquoted(written: string): string | { readonly message: string; readonly fix: string } {
  const [quote = ""] = /^["']/.exec(written) ?? [];
  if (quote === "")
    return / #/.test(written)
      ? {
          message: "has a comment in its line",
          fix: "write the comment into a line of its own, or the value in quotes",
        }
      : written;
  const inner = written.slice(1, -1);
  return written.length >= 2 && written.endsWith(quote) && !inner.includes(quote)
    ? inner
    : {
        message: "has quotes that do not fit each other",
        fix: `write ${quote}…${quote} around the whole value`,
      };
}

/**
 * Refuses what the file may not have: unknown names, and secrets.
 *
 * @param known every variable, those that other files of operators name included
 * @param isComplete false when such a file could not be read: then an unknown name may be one of it
 * @throws RegionFileError with every finding
 */
export function checkEntries(
  entries: Entries,
  known: Readonly<Record<string, Variable>>,
  path: string,
  isComplete = true,
): void {
  const names = Object.entries(known).flatMap(([name, variable]) =>
    mayBeInFile(variable) ? [name, fileVariableOf(name)] : [name],
  );
  const findings = [...entries].flatMap(([name, { value, line }]): RegionFileFinding[] => {
    const at = { line, column: 1, key: name };
    if (!names.includes(name)) {
      if (!isComplete) return [];
      return [{ ...at, message: "is not a name that is known here", fix: nameMeant(name, names) }];
    }
    if (value === "") return [];
    const own = known[name];
    if (own !== undefined && isSecret(own, value))
      return [
        {
          ...at,
          message: own.kind === "url" ? "has a password in it" : "secrets are not written into this file",
          fix: `put it into a file that only root can read (mode 0600), and write ${fileVariableOf(name)}= with its path`,
        },
      ];
    if (entries.get(fileVariableOf(name))?.value)
      return [{ ...at, message: `${fileVariableOf(name)} is set too`, fix: "remove one of the two" }];
    return [];
  });
  if (findings.length > 0) throw RegionFileError.inOrder(path, findings);
}

function nameMeant(name: string, names: readonly string[]): string {
  const plain = name.replace(/_FILE$/, "");
  if (plain !== name && names.includes(plain)) return `it is no secret: write ${plain}= with the value`;
  const meant = nearestName(name, names);
  return meant === null
    ? "remove it; docs/server-configuration.md lists all names"
    : `did you mean ${meant}?`;
}

function isSecret({ kind }: Variable, value: string): boolean {
  return kind === "secret" || (kind === "url" && (URL.parse(value)?.password ?? "") !== "");
}
