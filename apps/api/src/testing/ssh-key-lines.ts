import { createPublicKey, generateKeyPairSync } from "node:crypto";

/** A new ed25519 public key as one OpenSSH line. */
export function ed25519Line(comment = "test"): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const jwk = createPublicKey(publicKey.export({ type: "spki", format: "pem" })).export({ format: "jwk" });
  const key = Buffer.from(jwk.x ?? "", "base64url");
  const field = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const blob = Buffer.concat([field(Buffer.from("ssh-ed25519")), field(key)]);
  return `ssh-ed25519 ${blob.toString("base64")} ${comment}`;
}
