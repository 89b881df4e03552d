import { ApiError, failure } from "../api-error.ts";
import type { RawParameters } from "../schema/validate-parameters.ts";

/** Percent sequences to bytes, bytes to UTF-8; `+` is a space. A lone % stays. */
function decodePart(text: string): string {
  if (!/[%+]/.test(text)) return text;
  const bytes: number[] = [];
  const source = Buffer.from(text.replaceAll("+", " "));
  for (let index = 0; index < source.length; index++) {
    const hex = source[index] === 0x25 ? source.toString("latin1", index + 1, index + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      index += 2;
    } else {
      bytes.push(source[index] ?? 0);
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

/**
 * Proxmox VE's own decoder, with its habits: `;` separates like `&`, a second raw `=` cuts the value off,
 * `k=` and `k` mean "not given", a repeated key becomes an array.
 */
export function decodeUrlencoded(data: string): RawParameters {
  const result: RawParameters = {};
  if (data === "") return result;
  // Perl's split drops trailing empty fields, of pairs and within a pair.
  for (const pair of data.replace(/[&;]+$/, "").split(/[&;]/)) {
    const [rawKey = "", rawValue] = pair.replace(/=+$/, "").split("=");
    const key = decodePart(rawKey);
    if (rawValue === undefined) {
      result[key] = undefined;
      continue;
    }
    const value = decodePart(rawValue);
    const before = result[key];
    if (before === undefined || before === null) result[key] = value;
    else result[key] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return result;
}

function decodeJson(body: string): RawParameters {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw failure(
      `malformed JSON string, neither tag, array, object, number, string or atom, at character offset 0 (before "${body.slice(0, 20)}")`,
    );
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed))
    throw failure("Not a HASH reference");
  return parsed as RawParameters;
}

/** Parameters of a request: the body of PUT and POST, with the query merged over it. */
export function decodeParameters(
  method: string,
  contentType: string | undefined,
  body: string,
  query: string,
): RawParameters {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  let result: RawParameters = {};
  if (method === "PUT" || method === "POST") {
    if (
      type !== undefined &&
      type !== "" &&
      type !== "application/json" &&
      type !== "application/x-www-form-urlencoded"
    ) {
      throw new ApiError(506, `upload 'Content-Type '${contentType}' not implemented`);
    }
    result = type === "application/json" ? decodeJson(body) : decodeUrlencoded(body);
  }
  Object.assign(result, decodeUrlencoded(query));
  delete result._dc;
  return result;
}

/** The path as Proxmox VE sees it: decoded as a whole, before it is split. */
export function decodePath(path: string): string {
  return decodePart(path.replaceAll("+", "%2B"));
}
