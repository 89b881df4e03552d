import { cut } from "@kule/contract/field-error-list";
import type { OperationInfo } from "@kule/contract/schemas";
import { Malformed, PayloadTooLarge, UnsupportedMediaType } from "./errors.ts";
import { extentOf, namesIn, repeatedName } from "./json-text.ts";

export type BodyLimits = { readonly bytes: number; readonly values: number };

/** These need no token: no more than a sign-in can need, so that reading it costs nearly nothing. */
const withoutToken: BodyLimits = { bytes: 16 * 1024, values: 1_000 };
const ofCallers: BodyLimits = { bytes: 1024 * 1024, values: 20_000 };
/** An agent reports hundreds of machines at once. */
const ofAgents: BodyLimits = { bytes: 1024 * 1024, values: 100_000 };
/** Deeper than any body of the contract; keeps recursive checks off the end of the stack. */
const maxDepth = 50;

/** How much an operation reads of a body. */
export function bodyLimitsOf({ permission, tag }: Pick<OperationInfo, "permission" | "tag">): BodyLimits {
  if (permission === "public") return withoutToken;
  return tag === "agent" ? ofAgents : ofCallers;
}

/**
 * The body's bytes.
 *
 * @throws PayloadTooLarge at the limit, without reading further
 */
export async function readBytes(request: Request, { bytes: most }: BodyLimits): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > most) throw tooLarge(most);
  if (request.body === null) return new Uint8Array();
  if (request.headers.has("content-length")) return new Uint8Array(await request.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > most) throw tooLarge(most);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * The JSON in a body.
 *
 * @throws UnsupportedMediaType when it is declared to be something else, or in an unsupported encoding or
 * charset
 * @throws PayloadTooLarge when it contains more values than the limit
 * @throws Malformed when it is not JSON in UTF-8, or has a field twice: parsers disagree about which one
 * counts
 */
export function parseJson(bytes: Uint8Array, headers: Headers, { values: most }: BodyLimits): unknown {
  if (bytes.length > 0) requireReadable(headers.get("content-type"), headers.get("content-encoding"));
  if (bytes.length === 0) throw new Malformed("a JSON body is needed");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed("the body is not UTF-8");
  }
  const { depth, values, names } = extentOf(text, { depth: maxDepth, values: most });
  if (depth > maxDepth) throw new Malformed(`the body is nested deeper than ${maxDepth} levels`);
  if (values > most) throw new PayloadTooLarge(`a body has at most ${most} values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Malformed("the body is not JSON");
  }
  // Which name is repeated is searched only when the text has more names than the parsed value.
  if (names !== namesIn(value)) {
    const name = JSON.stringify(cut(repeatedName(text) ?? "", 256));
    throw new Malformed(`the body has ${name} twice; give every field once`);
  }
  return value;
}

const jsonType = /^application\/(json|[a-z0-9.-]+\+json)\s*(;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

function requireReadable(contentType: string | null, contentEncoding: string | null): void {
  if (contentType === null)
    throw new UnsupportedMediaType("say what the body is: Content-Type: application/json");
  if (!jsonType.test(contentType))
    throw new UnsupportedMediaType("send the body as Content-Type: application/json");
  for (const [, name] of contentType.matchAll(charset))
    if (!/^utf-?8$/i.test(name ?? ""))
      throw new UnsupportedMediaType("send the body in UTF-8, without a charset");
  if (contentEncoding !== null && contentEncoding.trim().toLowerCase() !== "identity")
    throw new UnsupportedMediaType("send the body as it is, without a Content-Encoding");
}

function tooLarge(mostBytes: number): PayloadTooLarge {
  return new PayloadTooLarge(`this operation takes a body of at most ${mostBytes} bytes`);
}
