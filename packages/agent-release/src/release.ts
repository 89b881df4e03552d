// What a publisher says of one release, and how much of it there may be.

import { isVersion } from "./version.ts";

export const RELEASE_LIMITS = {
  /** Of an envelope as it is sent and kept. */
  envelopeBytes: 64 * 1024,
  signatures: 8,
  files: 8,
  fileBytes: 512 * 1024 * 1024,
  /** Generations of keys after the one in the binary. */
  keyEnvelopes: 16,
  keysOfGeneration: 4,
} as const;

export const ARCHITECTURES = ["x64", "arm64"] as const;

export type Architecture = (typeof ARCHITECTURES)[number];

export const isArchitecture = (text: unknown): text is Architecture =>
  (ARCHITECTURES as readonly unknown[]).includes(text);

export type ReleaseFile = {
  readonly architecture: Architecture;
  readonly size_bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
};

export type Release = {
  readonly kind: "kule-agent-release";
  readonly format: 1;
  readonly version: string;
  readonly channel: "stable" | "candidate";
  readonly released_at: string;
  /** After this no agent takes it, so that nobody can offer an old release for ever. */
  readonly expires_at: string;
  /** An older agent has to be updated to another release first. */
  readonly minimum_previous_version: string;
  /** Whether agents may go back to it from a newer version. */
  readonly rollback_to: boolean;
  readonly files: readonly ReleaseFile[];
};

/** The name of a release's file for an architecture, as `npm run agent-binary` gives it. */
export const releaseFileName = (version: string, architecture: Architecture): string =>
  `kule-agent-${version}-linux-${architecture}`;

/** What is wrong with a payload that claims to be a release; null when nothing is. Fields that it does not know it leaves. */
export function releaseProblem(payload: unknown): string | null {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return "it is no object";
  const it = payload as Partial<Record<keyof Release, unknown>>;
  if (it.kind !== "kule-agent-release") return "kind is not kule-agent-release";
  if (it.format !== 1) return "its format is not 1";
  if (typeof it.version !== "string" || !isVersion(it.version)) return "version is no version";
  if (it.channel !== "stable" && it.channel !== "candidate") return "channel is neither stable nor candidate";
  const [from, to] = [timeOf(it.released_at), timeOf(it.expires_at)];
  if (from === null) return "released_at is no time";
  if (to === null) return "expires_at is no time";
  if (to <= from) return "it expires before it was released";
  if (typeof it.minimum_previous_version !== "string" || !isVersion(it.minimum_previous_version))
    return "minimum_previous_version is no version";
  if (typeof it.rollback_to !== "boolean") return "rollback_to is neither true nor false";
  if (!Array.isArray(it.files) || it.files.length === 0 || it.files.length > RELEASE_LIMITS.files)
    return `files are not 1 to ${RELEASE_LIMITS.files}`;
  const architectures = new Set<unknown>();
  for (const file of it.files as readonly unknown[]) {
    const problem = fileProblem(file);
    if (problem !== null) return problem;
    architectures.add((file as ReleaseFile).architecture);
  }
  return architectures.size < it.files.length ? "two files are of one architecture" : null;
}

function fileProblem(file: unknown): string | null {
  if (typeof file !== "object" || file === null) return "a file is no object";
  const { architecture, size_bytes: size, sha256 } = file as Partial<Record<keyof ReleaseFile, unknown>>;
  if (!isArchitecture(architecture)) return `a file is for none of ${ARCHITECTURES.join(", ")}`;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 1 || size > RELEASE_LIMITS.fileBytes)
    return `the size of the file for ${architecture} is not 1 to ${RELEASE_LIMITS.fileBytes} bytes`;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256))
    return `the sha256 of the file for ${architecture} is none`;
  return null;
}

/** Milliseconds since 1970 of a time in UTC; null when it is none. */
function timeOf(text: unknown): number | null {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}
