// Whether an agent takes a release. Whoever serves it is not trusted: the answer follows from what the publisher has signed
// and from what this machine remembers.

import { type Envelope, openEnvelope } from "./envelope.ts";
import { type Architecture, type Release, type ReleaseFile, releaseProblem } from "./release.ts";
import { newestKeys, type ReleaseKeys } from "./release-keys.ts";
import { compareVersions } from "./version.ts";

export type RefusalCode =
  | "no_keys"
  | "broken_keys"
  | "no_signature"
  | "untrusted_key"
  | "bad_signature"
  | "malformed"
  | "another_version"
  | "expired"
  | "already_running"
  | "known_bad"
  | "not_newer"
  | "replayed"
  | "previous_version_too_old"
  | "no_file";

export type Verdict =
  | {
      readonly kind: "accepted";
      readonly release: Release;
      readonly file: ReleaseFile;
      /** To be remembered from now on, whatever becomes of the release. */
      readonly keys: ReleaseKeys;
    }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly message: string };

/** What a machine remembers of its updates. */
export type Remembered = {
  /** The newest generation of keys that it has accepted. */
  readonly keys: ReleaseKeys | null;
  /** The newest version that has ever proven itself here. */
  readonly highestVersion: string | null;
  /** Versions that did not work here. */
  readonly badVersions: readonly string[];
};

export type Offer = {
  readonly envelope: Envelope;
  /** Successor keys, in their order. */
  readonly keyChain: readonly Envelope[];
  /** The version that was asked for. */
  readonly wantedVersion: string;
  /** Of this build; null in one that is not to be updated. */
  readonly builtIn: ReleaseKeys | null;
  readonly known: Remembered;
  readonly runningVersion: string;
  readonly architecture: Architecture;
  readonly nowMs: number;
};

export function acceptRelease(offer: Offer): Verdict {
  const { builtIn, known, wantedVersion } = offer;
  if (builtIn === null)
    return refused("no_keys", "this build has no keys of a publisher: it is updated by hand");
  const newest = newestKeys(builtIn, known.keys, offer.keyChain);
  if (newest.kind === "broken") return refused("broken_keys", newest.message);
  const opened = openEnvelope(offer.envelope, "kule-agent-release", newest.keys.keys);
  if (opened.kind === "unsigned") return refused(opened.code, opened.message);
  const problem = releaseProblem(opened.payload);
  if (problem !== null) return refused("malformed", problem);
  const release = opened.payload as Release;
  if (release.version !== wantedVersion)
    return refused("another_version", `it is of ${release.version}, and ${wantedVersion} was asked for`);
  const refusal = versionRefusal(release, offer);
  if (refusal !== null) return refusal;
  const file = release.files.find(({ architecture }) => architecture === offer.architecture);
  if (file === undefined) return refused("no_file", `it has no file for ${offer.architecture}`);
  return { kind: "accepted", release, file, keys: newest.keys };
}

function versionRefusal(release: Release, { known, runningVersion, nowMs }: Offer): Verdict | null {
  const {
    version,
    expires_at: expiresAt,
    minimum_previous_version: minimum,
    rollback_to: goesBack,
  } = release;
  if (nowMs >= Date.parse(expiresAt)) return refused("expired", `it has expired at ${expiresAt}`);
  if (compareVersions(version, runningVersion) === 0)
    return refused("already_running", `${version} is what runs`);
  if (known.badVersions.includes(version))
    return refused("known_bad", `${version} did not work on this machine before`);
  if (!goesBack) {
    if (compareVersions(version, runningVersion) < 0)
      return refused("not_newer", `${version} is older than ${runningVersion}, which runs`);
    if (known.highestVersion !== null && compareVersions(version, known.highestVersion) <= 0)
      return refused("replayed", `${known.highestVersion} has already run here, and ${version} is not newer`);
  }
  if (compareVersions(runningVersion, minimum) < 0)
    return refused(
      "previous_version_too_old",
      `it needs ${minimum} or newer before it, and ${runningVersion} runs`,
    );
  return null;
}

const refused = (code: RefusalCode, message: string): Verdict => ({ kind: "refused", code, message });
