/** Of a release: `1.4.0`, or `1.4.0-rc.2` for a candidate of it. */
export type Version = {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Of a candidate; null for the release itself, which is newer than all its candidates. */
  readonly candidate: number | null;
};

const PART = "(0|[1-9][0-9]{0,5})";
const FORM = new RegExp(`^${PART}\\.${PART}\\.${PART}(?:-rc\\.${PART})?$`);

/** Null when it is none. A version names a folder, so nothing but numbers, points and `-rc.` is one. */
export function parseVersion(text: string): Version | null {
  const [whole, major, minor, patch, candidate] = FORM.exec(text) ?? [];
  if (whole === undefined) return null;
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    candidate: candidate === undefined ? null : Number(candidate),
  };
}

export const isVersion = (text: string): boolean => parseVersion(text) !== null;

/**
 * Negative when the first is older, positive when it is newer.
 *
 * @throws Error when one of them is no version
 */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => {
    const version = parseVersion(text);
    if (version === null) throw new Error(`${JSON.stringify(text)} is no version`);
    const { major, minor, patch, candidate } = version;
    return [major, minor, patch, candidate ?? Number.POSITIVE_INFINITY];
  }) as [number[], number[]];
  for (const [index, number] of a.entries()) {
    const against = b[index] ?? 0;
    if (number !== against) return number < against ? -1 : 1;
  }
  return 0;
}

export const isNewer = (one: string, other: string): boolean => compareVersions(one, other) > 0;

/** The newer one of two, of which the first may be missing. */
export const newerOf = (one: string | null, other: string): string =>
  one !== null && isNewer(one, other) ? one : other;
