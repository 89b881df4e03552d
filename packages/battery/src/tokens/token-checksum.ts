const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Whether the last six characters are the CRC32 of all before: computed here, not by the code under test. */
export function hasRightChecksum(token: string): boolean {
  let value = 0xffffffff;
  for (const byte of Buffer.from(token.slice(0, -6)))
    value = (value >>> 8) ^ (table[(value ^ byte) & 255] ?? 0);
  let rest = (value ^ 0xffffffff) >>> 0;
  let text = "";
  for (let index = 0; index < 6; index += 1) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return token.endsWith(text);
}

/** A text in the form of a token, random in every part. */
export function randomTokenText(random: () => number): string {
  const pick = (alphabet: string, length: number) => {
    let text = "";
    for (let index = 0; index < length; index += 1)
      text += alphabet.charAt(Math.floor(random() * alphabet.length));
    return text;
  };
  const kind = ["pat", "ops", "agent", "ses"][Math.floor(random() * 4)];
  const id = pick("01234567", 1) + pick("0123456789abcdefghjkmnpqrstvwxyz", 25);
  return `kule_${kind}_${id}_${pick(digits, 38)}`;
}

/**
 * The texts that one typing error makes of a text: another character, two swapped, one left out, one twice,
 * other case.
 */
export function typosOf(text: string): string[] {
  const typos = new Set<string>();
  for (let at = 0; at < text.length; at += 1) {
    const [before, own, after] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)];
    for (const other of `${digits}_-. `) typos.add(before + other + after);
    typos.add(before + after.charAt(0) + own + after.slice(1));
    typos.add(before + after);
    typos.add(before + own + own + after);
  }
  typos.add(text.toLowerCase());
  typos.add(text.toUpperCase());
  typos.delete(text);
  return [...typos];
}
