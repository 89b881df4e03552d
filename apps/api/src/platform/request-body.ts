import { Malformed, PayloadTooLarge, UnsupportedMediaType } from "./errors.ts";

export const maxBodyBytes = 1024 * 1024;
/** Deeper than any body of the contract; keeps recursive checks off the end of the stack. */
const maxDepth = 50;

/**
 * The body's bytes.
 *
 * @throws PayloadTooLarge at 1 MiB, without reading further
 */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > maxBodyBytes) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  if (request.headers.has("content-length")) return new Uint8Array(await request.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxBodyBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * The JSON in a body.
 *
 * @throws UnsupportedMediaType when it is declared to be something else
 * @throws Malformed when it is no JSON in UTF-8
 */
export function parseJson(bytes: Uint8Array, contentType: string | null): unknown {
  if (bytes.length > 0 && contentType !== null && !jsonType.test(contentType))
    throw new UnsupportedMediaType("send the body as Content-Type: application/json");
  if (bytes.length > 0 && contentType === null)
    throw new UnsupportedMediaType("say what the body is: Content-Type: application/json");
  if (bytes.length === 0) throw new Malformed("a JSON body is needed");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed("the body is not UTF-8");
  }
  if (isTooDeep(text)) throw new Malformed(`the body is nested deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Malformed("the body is not JSON");
  }
}

const jsonType = /^application\/(json|[a-z0-9.-]+\+json)\s*(;|$)/i;

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (inString) {
      if (character === 0x5c) index += 1;
      else if (character === 0x22) inString = false;
    } else if (character === 0x22) inString = true;
    else if (character === 0x7b || character === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (character === 0x7d || character === 0x5d) depth -= 1;
  }
  return false;
}

function tooLarge(): PayloadTooLarge {
  return new PayloadTooLarge(`a body has at most ${maxBodyBytes} bytes`);
}
