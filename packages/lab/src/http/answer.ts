import { authenticate } from "../access/authenticate.ts";
import { ApiError } from "../api-error.ts";
import { dispatch, type Handlers } from "../call.ts";
import type { Region } from "../region.ts";
import { decodeParameters, decodePath } from "./decode.ts";
import { type Outgoing, plain, refusal, success } from "./respond.ts";

const BODY_LIMIT_BYTES = 512 * 1024;
const HEADER_LIMIT_COUNT = 64;
const UNAUTHORIZED_DELAY_SECONDS = 3;
const METHODS = new Set(["GET", "POST", "PUT", "DELETE"]);

export interface Target {
  readonly path: string;
  readonly query: string;
}

/** A request as it was received, over any transport. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: Target;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly headerCount: number;
  body(): Promise<string>;
}

export function splitTarget(url: string): Target {
  const mark = url.indexOf("?");
  return mark < 0
    ? { path: decodePath(url), query: "" }
    : { path: decodePath(url.slice(0, mark)), query: url.slice(mark + 1) };
}

const one = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(", ") : header;

/** Refusals that need no caller: method, transfer coding, path. */
function refuseShape({
  method,
  target: { path },
  headers,
  headerCount,
}: ReceivedRequest): Outgoing | undefined {
  if (!METHODS.has(method)) return plain(501, `method '${method}' not available`, null);
  const coding = one(headers["transfer-encoding"]);
  if (coding?.toLowerCase() === "chunked") return plain(501, "chunked transfer encoding not supported");
  if (coding !== undefined) return plain(501, `Unknown transfer encoding '${coding}'`);
  if (headerCount > HEADER_LIMIT_COUNT) return plain(400, "bad request");
  if (!path.startsWith("/api2/")) return plain(501, "no such uri");
  const format = path.split("/")[2];
  return format === "json" ? undefined : plain(501, `no formatter for uri ${path}, ${format}`);
}

/** Refusals after authentication and before the call. */
function refuseBody({ method, headers }: ReceivedRequest): Outgoing | undefined {
  const length = Number(one(headers["content-length"]) ?? 0);
  if (length === 0) return undefined;
  if (method !== "PUT" && method !== "POST") return plain(501, `Unexpected content for method '${method}'`);
  return length > BODY_LIMIT_BYTES ? plain(501, "for data too large") : undefined;
}

/** pveproxy's answer to a request. */
export async function answer(region: Region, handlers: Handlers, heard: ReceivedRequest): Promise<Outgoing> {
  const shape = refuseShape(heard);
  if (shape !== undefined) return shape;
  const { method, target, headers } = heard;
  const began = region.runtime.nowMs();
  const scale = region.runtime.timeScale;
  const unauthorized = async (reason: string): Promise<Outgoing> => {
    const left = UNAUTHORIZED_DELAY_SECONDS * scale * 1000 - (region.runtime.nowMs() - began);
    if (left > 0) await region.runtime.sleepMs(left);
    // No body, and no content type of JSON.
    return plain(401, reason, null);
  };
  let authUser: string;
  try {
    authUser = authenticate(
      region.store,
      { authorization: one(headers.authorization), cookie: one(headers.cookie) },
      Math.floor(began / 1000),
    );
  } catch (error) {
    if (error instanceof ApiError) return await unauthorized(error.message);
    throw error;
  }
  const refused = refuseBody(heard);
  if (refused !== undefined) return refused;
  const body = await heard.body();
  try {
    const raw = decodeParameters(method, one(headers["content-type"]), body, target.query);
    const path = target.path.slice("/api2/json".length);
    return success(await dispatch(region, handlers, { method, path, raw, authUser }));
  } catch (error) {
    if (error instanceof ApiError) {
      // 59x are from the proxy hop, whose text is not JSON; so is a refused content type.
      if (error.status >= 590 || error.status === 506) return plain(error.status, error.message);
      return refusal(error, region.version);
    }
    if (error instanceof Error)
      return refusal(new ApiError(500, `${error.message.trimEnd()}\n`), region.version);
    throw error;
  }
}
