import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";

/** What `kule-state` unpacks: the files below `files`, and the programs beside them. */
export interface GuestBundle {
  readonly sha256: string;
  /** By their paths, such as "files/haproxy/haproxy.cfg"; null when the bundle is no tar file. */
  readonly files: ReadonlyMap<string, string> | null;
}

const MOST_BYTES = 4 * 8_388_608;
const BLOCK = 512;

/** The content of a bundle's text; like `base64 -d | gzip -dc`, it gives as much as it can of a damaged one. */
export function readBundle(text: string): GuestBundle {
  const tar = unzipped(Buffer.from(text, "base64"));
  return { sha256: createHash("sha256").update(tar).digest("hex"), files: filesIn(tar) };
}

function unzipped(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_BYTES });
  } catch {
    return Buffer.alloc(0);
  }
}

function filesIn(tar: Buffer): Map<string, string> | null {
  const files = new Map<string, string>();
  let at = 0;
  while (at + BLOCK <= tar.length) {
    const header = tar.subarray(at, at + BLOCK);
    // Two empty blocks end a tar file.
    if (header.every((byte) => byte === 0)) return files;
    const size = Number.parseInt(fieldOf(header, 124, 12), 8);
    if (fieldOf(header, 257, 5) !== "ustar" || !Number.isSafeInteger(size)) return null;
    const content = at + BLOCK;
    if (content + size > tar.length) return null;
    files.set(fieldOf(header, 0, 100), tar.toString("utf8", content, content + size));
    at = content + Math.ceil(size / BLOCK) * BLOCK;
  }
  return null;
}

const fieldOf = (header: Buffer, from: number, length: number): string =>
  header
    .toString("latin1", from, from + length)
    .replace(/\0[\s\S]*$/, "")
    .trim();
