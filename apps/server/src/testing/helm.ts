import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";

const chart = resolve(import.meta.dirname, "../../../../infra/helm/kule");

/** The fields of a manifest that the tests read. */
export type Manifest = {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has a shape of its own, which Kubernetes defines.
  readonly spec?: any;
};

function findHelm(): string | undefined {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folders = [...(process.env.PATH ?? "").split(delimiter), join(cache, "kule")];
  return folders.map((folder) => join(folder, "helm")).find((path) => existsSync(path));
}

/** Undefined when it can be run here, else what is missing. */
export function probeHelm(): string | undefined {
  return findHelm() === undefined ? "helm is not installed (infra/ci/fetch-helm)" : undefined;
}

/** Runs helm on the chart with these values. */
export function helm(
  command: "lint" | "template",
  values: object,
): { readonly ok: boolean; readonly output: string } {
  const folder = mkdtempSync(join(tmpdir(), "kule-helm-"));
  try {
    const file = join(folder, "values.json");
    writeFileSync(file, JSON.stringify(values));
    const args =
      command === "lint" ? ["lint", "--strict", chart, "-f", file] : ["template", "kule", chart, "-f", file];
    const { status, stdout, stderr } = spawnSync(findHelm() ?? "helm", args, {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: folder },
      maxBuffer: 16 * 1024 ** 2,
    });
    return { ok: status === 0, output: status === 0 && command === "template" ? stdout : stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws Error with helm's words, when it renders nothing */
export function rendered(values: object): Manifest[] {
  const { ok, output } = helm("template", values);
  if (!ok) throw new Error(output);
  return parseAllDocuments(output)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}
