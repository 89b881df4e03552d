// Zones on disk: one file each, replaced by a rename, so that a kill leaves the old zone or the new one.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { indexed, type StoredZone, type Zone } from "./zone.ts";

export interface ZoneFiles {
  readonly zones: ReadonlyMap<string, Zone>;
  /** On disk when it returns. */
  put(zone: StoredZone): void;
  remove(name: string): void;
}

/** Opens (or makes) the folder `dataDir`. */
export function openZoneFiles(dataDir: string): ZoneFiles {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const zones = new Map<string, Zone>();
  for (const file of readdirSync(dataDir).filter((name) => name.endsWith(".json"))) {
    const zone = JSON.parse(readFileSync(join(dataDir, file), "utf8")) as StoredZone;
    zones.set(zone.name, indexed(zone));
  }
  // A name may have more characters than a file's name.
  const fileOf = (name: string): string =>
    join(dataDir, `${createHash("sha256").update(name).digest("hex")}.json`);
  return {
    zones,
    put: ({ name, kind, soaEditApi, apiRectify, sets, keys, nextKeyId }) => {
      const zone: StoredZone = { name, kind, soaEditApi, apiRectify, sets, keys, nextKeyId };
      const file = fileOf(name);
      // It holds private keys.
      writeFileSync(`${file}.tmp`, JSON.stringify(zone), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
      zones.set(name, indexed(zone));
    },
    remove: (name) => {
      rmSync(fileOf(name), { force: true });
      zones.delete(name);
    },
  };
}
