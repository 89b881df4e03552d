// The publisher's side: key pairs and signatures.

import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Envelope, rawPublicKey, sealEnvelope } from "./envelope.ts";
import { type Release, releaseProblem } from "./release.ts";
import { asReleaseKeys, type ReleaseKeys, type SuccessorKeys } from "./release-keys.ts";

export type KeyPair = {
  /** In base64, as a build is given it. */
  readonly publicKey: string;
  /** PKCS #8, as PEM: a secret. */
  readonly privateKey: string;
};

export function makeKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: rawPublicKey(privateKey),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

/** @throws Error when it is no private key of ed25519 */
export function privateKeyOf(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ed25519") throw new Error("the key is not one of ed25519");
  return key;
}

/** @throws Error when no agent would take it for a release */
export function signRelease(release: Release, keys: readonly KeyObject[]): Envelope {
  const problem = releaseProblem(release);
  if (problem !== null) throw new Error(`the release cannot be signed: ${problem}`);
  return sealEnvelope("kule-agent-release", release, keys);
}

/**
 * @param keys of the generation before
 * @throws Error when no agent would take them for keys
 */
export function signSuccessor(successor: ReleaseKeys, keys: readonly KeyObject[]): Envelope {
  if (asReleaseKeys(successor) === null) throw new Error("these are not 1 to 4 different public keys");
  const payload: SuccessorKeys = { kind: "kule-agent-keys", format: 1, ...successor };
  return sealEnvelope("kule-agent-keys", payload, keys);
}
