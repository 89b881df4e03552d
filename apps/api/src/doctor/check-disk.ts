import { statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { advice, type Finding, good, wrong } from "./finding.ts";

export type Disk = { readonly path: string; readonly totalBytes: number; readonly freeBytes: number };

/** Where this machine's logs, temporary files and, where Postgres runs here, its data are. */
const places = ["/", "/var/log", "/var/lib/postgresql", tmpdir()];
const gigabyte = 1024 ** 3;

/** The file systems of these places, each once. */
export function disksHere(paths: readonly string[] = places): readonly Disk[] {
  const known = new Set<number>();
  return paths.flatMap((path) => {
    try {
      const { dev } = statSync(path);
      if (known.has(dev)) return [];
      known.add(dev);
      const { blocks, bavail, bsize } = statfsSync(path);
      return [{ path, totalBytes: blocks * bsize, freeBytes: bavail * bsize }];
    } catch {
      // A place that is not there fills nothing.
      return [];
    }
  });
}

export function checkDisk(disks: readonly Disk[]): Finding[] {
  return disks.map(({ path, totalBytes, freeBytes }) => {
    const check = `disk ${path}`;
    const share = totalBytes === 0 ? 1 : freeBytes / totalBytes;
    const found = `${sizeOf(freeBytes)} of ${sizeOf(totalBytes)} free`;
    const fix = `make room: du -xh --max-depth=2 ${path} | sort -h; journalctl --vacuum-size=500M`;
    if (share < 0.02 || freeBytes < gigabyte / 10) return wrong(check, found, fix);
    return share < 0.1 || freeBytes < gigabyte ? advice(check, found, fix) : good(check, found);
  });
}

const sizeOf = (bytes: number) =>
  bytes < 10 * gigabyte ? `${(bytes / gigabyte).toFixed(1)} GB` : `${Math.round(bytes / gigabyte)} GB`;
