import { createHash } from "node:crypto";

const ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ROUNDS = 5000;
const ORDER: readonly (readonly [number, number, number])[] = [
  [0, 10, 20],
  [21, 1, 11],
  [12, 22, 2],
  [3, 13, 23],
  [24, 4, 14],
  [15, 25, 5],
  [6, 16, 26],
  [27, 7, 17],
  [18, 28, 8],
  [9, 19, 29],
];

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** `length` bytes of `block` repeated. */
function stretch(block: Buffer, length: number): Buffer {
  return Buffer.alloc(length, block.subarray(0, Math.max(1, block.length)));
}

function encode(high: number, middle: number, low: number, digits: number): string {
  let value = (high << 16) | (middle << 8) | low;
  let text = "";
  for (let index = 0; index < digits; index++) {
    text += ALPHABET[value & 0x3f];
    value >>>= 6;
  }
  return text;
}

/** Drepper's SHA-256 crypt, "$5$salt$hash" with the default 5000 rounds, as crypt(3) computes it. */
export function sha256Crypt(password: string, salt: string): string {
  const key = Buffer.from(password);
  const saltBytes = Buffer.from(salt.slice(0, 16));
  const alternate = sha256(key, saltBytes, key);
  const first: Buffer[] = [
    key,
    saltBytes,
    key.length === 0 ? Buffer.alloc(0) : stretch(alternate, key.length),
  ];
  for (let left = key.length; left > 0; left >>>= 1) first.push(left & 1 ? alternate : key);
  let digest = sha256(...first);
  const keyBlock =
    key.length === 0
      ? Buffer.alloc(0)
      : stretch(sha256(...Array.from({ length: key.length }, () => key)), key.length);
  const saltRounds = 16 + (digest[0] ?? 0);
  const saltBlock = stretch(sha256(...Array.from({ length: saltRounds }, () => saltBytes)), saltBytes.length);
  for (let round = 0; round < ROUNDS; round++) {
    const parts: Buffer[] = [round & 1 ? keyBlock : digest];
    if (round % 3) parts.push(saltBlock);
    if (round % 7) parts.push(keyBlock);
    parts.push(round & 1 ? digest : keyBlock);
    digest = sha256(...parts);
  }
  const at = (index: number): number => digest[index] ?? 0;
  const text = ORDER.map(([a, b, c]) => encode(at(a), at(b), at(c), 4)).join("");
  return `$5$${saltBytes.toString()}$${text}${encode(0, at(31), at(30), 3)}`;
}

/** Eight characters from crypt's alphabet. */
export function cryptSalt(random: () => number): string {
  return Array.from({ length: 8 }, () => ALPHABET[Math.floor(random() * 64)]).join("");
}
