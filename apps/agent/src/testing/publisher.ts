// A publisher of releases: keys, and what is signed with them.

import { createHash } from "node:crypto";
import type { Envelope } from "@kule/agent-release/envelope";
import { makeKeyPair, privateKeyOf, signRelease, signSuccessor } from "@kule/agent-release/publish";
import type { Architecture, Release } from "@kule/agent-release/release";
import type { ReleaseKeys } from "@kule/agent-release/release-keys";

export class Publisher {
  readonly #pairs = [makeKeyPair()];
  readonly chain: Envelope[] = [];

  /** Of the first generation: those of a build. */
  get builtIn(): ReleaseKeys {
    return { generation: 1, keys: [this.#pairs[0]?.publicKey ?? ""] };
  }

  /** @param change of what is signed */
  sign(
    version: string,
    file: Buffer,
    architecture: Architecture = "x64",
    change: Partial<Release> = {},
  ): Envelope {
    const now = Date.now();
    return signRelease(
      {
        kind: "kule-agent-release",
        format: 1,
        version,
        channel: "stable",
        released_at: new Date(now - 60_000).toISOString(),
        expires_at: new Date(now + 365 * 86_400_000).toISOString(),
        minimum_previous_version: "0.0.0",
        rollback_to: false,
        files: [{ architecture, size_bytes: file.length, sha256: sha256(file) }],
        ...change,
      },
      [this.#key()],
    );
  }

  /** New keys, which the ones before have signed. */
  rotate(): void {
    const key = this.#key();
    const pair = makeKeyPair();
    this.#pairs.push(pair);
    this.chain.push(signSuccessor({ generation: this.#pairs.length, keys: [pair.publicKey] }, [key]));
  }

  #key() {
    return privateKeyOf(this.#pairs.at(-1)?.privateKey ?? "");
  }
}

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
