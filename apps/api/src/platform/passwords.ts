import { argon2, randomBytes, randomInt } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(argon2);

/** RFC 9106's second choice scaled to a control plane: 19 MiB, two passes, one lane; 27 ms measured on one core. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

/** The password's argon2id hash as a PHC string, `$argon2id$v=19$m=…,t=…,p=…$<salt>$<hash>`. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive("argon2id", { message: password, nonce, ...cost });
  const parameters = `m=${cost.memory},t=${cost.passes},p=${cost.parallelism}`;
  return `$argon2id$v=19$${parameters}$${unpadded(nonce)}$${unpadded(tag)}`;
}

const phcParameters = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)$/;

/**
 * The password's hash with the parameters of another one.
 *
 * @param parameters a PHC string without its hash; null when there is none (no user has that e-mail): then it
 * takes as long, and equals no stored hash
 */
export async function hashAs(password: string, parameters: string | null): Promise<string> {
  const [, memory, passes, parallelism, nonce] = phcParameters.exec(parameters ?? "") ?? [];
  if (nonce === undefined) return hashPassword(password);
  const tag = await derive("argon2id", {
    message: password,
    nonce: Buffer.from(nonce, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: cost.tagLength,
  });
  return `${parameters}$${unpadded(tag)}`;
}

/** Letters and digits that are not mistaken for one another when they are read out. */
const readable = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789";

/**
 * A digest that costs as much to try as a password's hash, for data that has to be recognised later and may
 * contain one.
 *
 * @param nonce of this one record; 8 bytes or more
 */
export function slowDigest(message: Uint8Array, nonce: Uint8Array): Promise<Buffer> {
  return derive("argon2id", { message, nonce, ...cost });
}

/** A password of 20 readable characters (more than 110 bits). */
export function generatePassword(): string {
  return Array.from({ length: 20 }, () => readable[randomInt(readable.length)]).join("");
}

const unpadded = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString("base64")
    .replace(/={1,2}$/, "");
