import { createCipheriv, timingSafeEqual } from "node:crypto";

/** VNC uses the bits of each byte of the password in the opposite order of DES. */
function mirrored(byte: number): number {
  let result = 0;
  for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) result |= 0x80 >> bit;
  return result;
}

/**
 * The answer to a VNC challenge: both halves encrypted by DES under the first eight bytes of the password. OpenSSL 3
 * keeps single DES among its legacy ciphers; triple DES under three times the same key is the same function.
 */
export function vncResponse(password: string, challenge: Uint8Array): Buffer {
  const key = Buffer.alloc(8);
  for (const [index, byte] of Buffer.from(password, "latin1").subarray(0, 8).entries()) {
    key[index] = mirrored(byte);
  }
  const cipher = createCipheriv("des-ede3-ecb", Buffer.concat([key, key, key]), null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(challenge), cipher.final()]);
}

export function vncResponseFits(password: string, challenge: Uint8Array, response: Uint8Array): boolean {
  const expected = vncResponse(password, challenge);
  return response.length === expected.length && timingSafeEqual(response, expected);
}
