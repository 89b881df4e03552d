// Just enough DER to write a certificate request. The libraries that do it add 386 KB (@peculiar/asn1-csr) or 787 KB
// (@peculiar/x509) to the bundle of every region agent, which has 2.5 MB; the tests read what is written here with the second.

export const DER = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  set: 0x31,
  /** `[0]` of a constructed value, and `[2]` of a plain one. */
  constructed0: 0xa0,
  plain2: 0x82,
} as const;

/** One value: tag, length and the parts one after another. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  const length: number[] = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 256)) length.unshift(left % 256);
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length, ...length), body]);
}

/** An identifier such as `2.5.29.17`. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(DER.objectIdentifier, Buffer.from(bytes));
}
