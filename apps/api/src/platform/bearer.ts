import type { ApiRequest } from "./api-request.ts";

/** The secret that the caller sent. */
export function bearerOf(request: ApiRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.header("Authorization") ?? "")?.[1];
}
