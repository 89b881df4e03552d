import type { Schemas } from "@kule/contract/schemas";
import { unavailableFrom } from "./database-errors.ts";
import { type ErrorCode, Refusal } from "./errors.ts";

const titles: { readonly [status: number]: string } = {
  400: "The body is not JSON",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  409: "A precondition does not hold",
  412: "The resource has changed",
  413: "The body is too large",
  415: "The body is not JSON",
  416: "The file has no such bytes",
  422: "The request is invalid",
  429: "Too many requests",
  500: "Internal error",
  503: "Not available for the moment",
};

/** The refusal for an error, or null when it is a bug. */
export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  return unavailableFrom(error);
}

export type RenderedProblem = {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Schemas["Problem"];
};

/** RFC 9457 problem details. An error that is not a refusal shows only its request id. */
export function renderProblem(error: unknown, at: { requestId: string; path: string }): RenderedProblem {
  const refusal = refusalOf(error);
  const status = refusal?.status ?? 500;
  const code: ErrorCode = refusal?.code ?? "internal_error";
  return {
    status,
    headers: { "Content-Type": "application/problem+json", ...refusal?.headers() },
    body: {
      type: `https://kule.dev/errors/${code}`,
      title: titles[status] ?? "Error",
      status,
      code,
      detail: refusal?.message ?? "something went wrong on our side; the request id helps to find it",
      instance: at.path,
      request_id: at.requestId,
      ...refusal?.extra(),
    },
  };
}
