import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServerIdentity, serverIdentity } from "@kule/lab/certificate";

/** A self-signed certificate for 127.0.0.1, generated for one use: the caller pins its fingerprint. */
export function ownCertificate(): ServerIdentity {
  const directory = mkdtempSync(join(tmpdir(), "kule-certificate-"));
  try {
    return serverIdentity(directory, ["127.0.0.1"], new Date());
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
