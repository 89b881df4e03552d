import { hash } from "node:crypto";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a bundle was made of: the digest of each file that esbuild read, and of what decides how it is read. */
export type BundleStamp = {
  readonly settings: string;
  /** By path relative to the root. */
  readonly inputs: Readonly<Record<string, string>>;
};

const digestOf = (file: string) => hash("sha1", readFileSync(file));

/**
 * The stamp of a bundle that was built from these files since `startedAt` (milliseconds of the epoch). Null when one of
 * them changed meanwhile: esbuild may have read what it was before.
 */
export function stampOf(root: string, inputs: readonly string[], startedAt: number): BundleStamp | null {
  if (inputs.some((input) => statSync(join(root, input)).mtimeMs >= startedAt)) return null;
  return {
    settings: settingsOf(root),
    inputs: Object.fromEntries(inputs.map((input) => [input, digestOf(join(root, input))])),
  };
}

/** Null when there is none, or when it is not one of ours. */
export function readBundleStamp(file: string): BundleStamp | null {
  try {
    const stamp = JSON.parse(readFileSync(file, "utf8")) as Partial<BundleStamp>;
    const { settings, inputs } = stamp;
    return typeof settings === "string" && typeof inputs === "object" ? { settings, inputs } : null;
  } catch {
    return null;
  }
}

/** Whether building again would make the same bundle. Reading the files takes a twentieth of the time of a build. */
export function isCurrent(root: string, { settings, inputs }: BundleStamp): boolean {
  return (
    settings === settingsOf(root) &&
    Object.entries(inputs).every(
      ([input, digest]) => existsSync(join(root, input)) && digestOf(join(root, input)) === digest,
    )
  );
}

/** Which file an import means depends on the manifests; how it is built, on this package. */
function settingsOf(root: string): string {
  const files = [
    "pnpm-lock.yaml",
    "tsconfig.json",
    ...globSync("{apps,packages,tools}/*/package.json", { cwd: root }),
  ].filter((file) => existsSync(join(root, file)));
  const own = globSync("*.ts", { cwd: import.meta.dirname }).map((file) => join(import.meta.dirname, file));
  const all = [...files.map((file) => join(root, file)), ...own].sort();
  return hash("sha1", all.map(digestOf).join("\n"));
}
