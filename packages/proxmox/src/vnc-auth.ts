import { createCipheriv } from "node:crypto";

/**
 * The answer to a VNC challenge: DES under the first eight bytes of the password, the bits of each byte mirrored.
 * OpenSSL 3 keeps single DES among its legacy ciphers; triple DES under three times one key is the same function.
 */
export function answerVncChallenge(password: string, challenge: Uint8Array): Buffer {
  const key = Buffer.alloc(8);
  for (const [index, byte] of Buffer.from(password, "latin1").subarray(0, 8).entries()) {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) key[index] = (key[index] ?? 0) | (0x80 >> bit);
  }
  const cipher = createCipheriv("des-ede3-ecb", Buffer.concat([key, key, key]), null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(challenge), cipher.final()]);
}
