import { decodeBase64, readWireFields } from "./wire.ts";

export type SshKeyType = "ed25519" | "ecdsa" | "rsa" | "sk-ed25519" | "sk-ecdsa";

export type ParsedSshKey = {
  readonly ok: true;
  readonly type: SshKeyType;
  readonly bits: number;
  /** The name that OpenSSH writes first, such as `ssh-ed25519`. */
  readonly algorithm: string;
  /** Algorithm and key without the comment: what goes into authorized_keys. */
  readonly publicKey: string;
  readonly comment: string;
  /** The key's wire form; fingerprints are hashes of it. */
  readonly blob: Uint8Array;
};
export type RefusedSshKey = { readonly ok: false; readonly message: string };

type Check = (fields: readonly Uint8Array[]) => { type: SshKeyType; bits: number } | string;

const curveBits: { readonly [curve: string]: number } = { nistp256: 256, nistp384: 384, nistp521: 521 };
const minRsaBits = 2048;
const maxRsaBits = 16384;

const checks: { readonly [algorithm: string]: Check } = {
  "ssh-ed25519": ed25519("ed25519", 1),
  "sk-ssh-ed25519@openssh.com": ed25519("sk-ed25519", 2),
  "ecdsa-sha2-nistp256": ecdsa("ecdsa", "nistp256", 2),
  "ecdsa-sha2-nistp384": ecdsa("ecdsa", "nistp384", 2),
  "ecdsa-sha2-nistp521": ecdsa("ecdsa", "nistp521", 2),
  "sk-ecdsa-sha2-nistp256@openssh.com": ecdsa("sk-ecdsa", "nistp256", 3),
  "ssh-rsa": rsa,
};

/**
 * Reads one line in the OpenSSH form, `<algorithm> <base64> [comment]`, and checks the key inside it. Whatever a
 * guest's sshd would not accept as a plain key is refused, with a message that says what was pasted instead.
 */
export function parseSshPublicKey(text: string): ParsedSshKey | RefusedSshKey {
  const line = text.trim();
  const foreign = recogniseOther(line);
  if (foreign !== null) return refuse(foreign);

  const match = /^([^ \t]+)[ \t]+([^ \t]+)(?:[ \t]+([^ \t].*)?)?$/.exec(line);
  const [, algorithm = "", encoded = "", comment = ""] = match ?? [];
  if (match === null)
    return refuse("is not a public key in the OpenSSH form: type, key and comment on one line");
  const check = Object.hasOwn(checks, algorithm) ? checks[algorithm] : undefined;
  if (check === undefined) return refuse(unknownAlgorithm(line, algorithm));

  if (holdsKey(comment)) return refuse("holds several keys in one line; send one public key");
  const blob = decodeBase64(encoded);
  if (blob === null) return refuse("the key after its type is not valid base64; was it cut off?");
  const fields = readWireFields(blob);
  if (fields === null) return refuse("the key is damaged: its fields do not add up; was it cut off?");
  const [inner, ...values] = fields;
  if (inner === undefined || asciiOf(inner) !== algorithm)
    return refuse(`the key says ${algorithm} but holds another type of key`);
  const found = check(values);
  if (typeof found === "string") return refuse(found);
  return {
    ok: true,
    ...found,
    algorithm,
    publicKey: `${algorithm} ${encoded}`,
    comment: comment.trim(),
    blob,
  };
}

/** A second key without its line break would be taken for the first one's comment, and silently left out. */
function holdsKey(comment: string): boolean {
  const words = comment.split(/[ \t]+/);
  return words.some(
    (word, index) => Object.hasOwn(checks, word) && /^AAAA[A-Za-z0-9+/=]+$/.test(words[index + 1] ?? ""),
  );
}

function recogniseOther(line: string): string | null {
  if (line === "") return "is empty";
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----|PuTTY-User-Key-File/i.test(line))
    return "is a private key: keep it secret, treat it as leaked now, and send the file that ends in .pub instead";
  if (/-----BEGIN |---- BEGIN /.test(line))
    return "is not in the OpenSSH one-line form; convert it with ssh-keygen -i -f <file>";
  if (/[\r\n]/.test(line)) return "has several lines; send one public key";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(line)) return "has control characters";
  return null;
}

function unknownAlgorithm(line: string, algorithm: string): string {
  if (algorithm === "ssh-dss") return "is a DSA key, which is no longer safe; make an ed25519 key";
  if (/-cert-v0[01]@openssh\.com$/.test(algorithm)) return "is a certificate; send the public key itself";
  const known = Object.keys(checks).some((name) => line.includes(` ${name} `) || line.includes(`\t${name} `));
  if (known) return `begins with options (${algorithm.slice(0, 40)}); send the key without them`;
  return `has the unknown type ${JSON.stringify(algorithm.slice(0, 40))}; ed25519, ecdsa, rsa and sk- keys are accepted`;
}

function ed25519(type: SshKeyType, fieldCount: number): Check {
  return (fields) => {
    if (fields.length !== fieldCount || fields[0]?.length !== 32) return "the ed25519 key is damaged";
    return { type, bits: 256 };
  };
}

function ecdsa(type: SshKeyType, curve: string, fieldCount: number): Check {
  return (fields) => {
    const bits = curveBits[curve] ?? 0;
    const [name, point] = fields;
    if (fields.length !== fieldCount || name === undefined || asciiOf(name) !== curve)
      return `the ecdsa key is not on the curve ${curve} that it names`;
    // 0x04 begins an uncompressed point: both coordinates follow.
    if (point?.length !== 1 + 2 * Math.ceil(bits / 8) || point[0] !== 4) return "the ecdsa key is damaged";
    return { type, bits };
  };
}

function rsa(fields: readonly Uint8Array[]): ReturnType<Check> {
  const [exponent, modulus] = fields;
  if (fields.length !== 2 || exponent === undefined || modulus === undefined) return "the rsa key is damaged";
  const exponentBits = positiveBits(exponent);
  const bits = positiveBits(modulus);
  if (exponentBits === null || bits === null || exponentBits < 2 || exponentBits > 64)
    return "the rsa key is damaged";
  if ((exponent[exponent.length - 1] ?? 0) % 2 === 0 || (modulus[modulus.length - 1] ?? 0) % 2 === 0)
    return "the rsa key is damaged";
  if (bits < minRsaBits) return `the rsa key has ${bits} bits; at least ${minRsaBits} are needed`;
  if (bits > maxRsaBits) return `the rsa key has ${bits} bits; at most ${maxRsaBits} are accepted`;
  return { type: "rsa", bits };
}

/** Length in bits of a multiple precision integer; null when it is negative, zero or not in its shortest form. */
function positiveBits(integer: Uint8Array): number | null {
  const [first, second] = integer;
  if (first === undefined || first > 127) return null;
  if (first === 0 && (second === undefined || second < 128)) return null;
  const start = first === 0 ? 1 : 0;
  return (integer.length - start - 1) * 8 + (32 - Math.clz32(integer[start] ?? 0));
}

const asciiOf = (bytes: Uint8Array) => String.fromCharCode(...bytes.subarray(0, 100));

const refuse = (message: string): RefusedSshKey => ({ ok: false, message });
