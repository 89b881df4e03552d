import type { FieldError } from "@kule/contract/field-errors";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError } from "../../platform/errors.ts";

const maxDays = 1;
const secondsPerDay = 86_400;

/**
 * The bounds of a token by which an operator enters an organisation, and of every token that is minted with
 * it.
 */
export type Entry = {
  readonly reason: string;
  /** Longer than this it does not last. */
  readonly maxSeconds: number;
  /** Nor past this, the end of the token that mints it. */
  readonly notAfter: Date | null;
};

type Asked = { readonly reason?: string | undefined; readonly expires_in_days?: number | undefined };

/** What an operator who enters an organisation has left out, or requests for too long. */
export function entryErrors(request: ApiRequest, { reason, expires_in_days: days }: Asked): FieldError[] {
  if (!isEntering(request)) return [];
  const tooLong = days !== undefined && days > maxDays;
  return [
    ...(reason === undefined
      ? [fieldError("/reason", "required", "is needed: the organisation reads why an operator enters it")]
      : []),
    ...(tooLong
      ? [
          fieldError(
            "/expires_in_days",
            "out_of_range",
            "an operator's token for an organisation lasts for a day",
          ),
        ]
      : []),
  ];
}

/** The bounds of a token that the request mints in an organisation; null when no operator is behind it. */
export function entryOf(request: ApiRequest, { reason }: Asked): Entry | null {
  const maxSeconds = maxDays * secondsPerDay;
  const { operatorReason, expiresAt } = request.caller;
  // A token that was minted with such a token is bounded as it is.
  if (operatorReason !== null) return { reason: operatorReason, maxSeconds, notAfter: expiresAt };
  return isEntering(request) ? { reason: reason ?? "", maxSeconds, notAfter: null } : null;
}

const isEntering = (request: ApiRequest) => request.caller.isOperator && request.organisationOrNull !== null;
