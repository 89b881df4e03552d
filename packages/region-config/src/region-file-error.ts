/**
 * One error in a region file, or another file of operators, and what to do about it. Never quotes a secret.
 */
export type RegionFileFinding = {
  /** From 1; null when the file could not be read at all. */
  readonly line: number | null;
  readonly column: number | null;
  /** "hypervisor.tls", or "" for the whole file. */
  readonly key: string;
  readonly message: string;
  readonly fix: string;
};

/** The file cannot be used. `message` lists every finding the way compilers do: file:line:column. */
export class RegionFileError extends Error {
  readonly path: string;
  readonly findings: readonly RegionFileFinding[];

  constructor(path: string, findings: readonly RegionFileFinding[]) {
    super(formatFindings(path, findings));
    this.name = "RegionFileError";
    this.path = path;
    this.findings = findings;
  }

  /** With the findings from the top of the file to its end. */
  static inOrder(path: string, findings: readonly RegionFileFinding[]): RegionFileError {
    return new RegionFileError(
      path,
      findings.toSorted(
        (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
      ),
    );
  }
}

function formatFindings(path: string, findings: readonly RegionFileFinding[]): string {
  const count = findings.length === 1 ? "1 problem" : `${findings.length} problems`;
  const lines = findings.map(({ line, column, key, message, fix }) => {
    const place = line === null ? path : `${path}:${line}:${column ?? 1}`;
    return `${place}: ${key === "" ? "" : `${key}: `}${message}\n    fix: ${fix}`;
  });
  return [`${path} cannot be used: ${count}`, ...lines].join("\n");
}
