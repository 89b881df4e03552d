const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Strict base64 with padding: null for anything that would not be written back as the same text. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let bits = 0;
  let bitCount = 0;
  let written = 0;
  for (const character of text.slice(0, text.length - padding)) {
    bits = ((bits << 6) | alphabet.indexOf(character)) & 0xffffff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes[written] = (bits >> bitCount) & 255;
    written += 1;
  }
  return (bits & ((1 << bitCount) - 1)) === 0 ? bytes : null;
}

/** The length-prefixed fields of an SSH wire structure; null unless they fill it exactly. */
export function readWireFields(blob: Uint8Array): Uint8Array[] | null {
  const fields: Uint8Array[] = [];
  let offset = 0;
  while (offset < blob.length) {
    if (offset + 4 > blob.length) return null;
    const length = blob.subarray(offset, offset + 4).reduce((sum, byte) => sum * 256 + byte, 0);
    offset += 4;
    if (length > blob.length - offset) return null;
    fields.push(blob.subarray(offset, offset + length));
    offset += length;
  }
  return fields;
}
