import type { CertificateFlaw } from "./ca-orders.ts";

/** What of a CA is asked. */
export type CaPlace =
  | "directory"
  | "nonce"
  | "account"
  | "new order"
  | "order"
  | "authorization"
  | "challenge"
  | "finalize"
  | "certificate"
  | "renewal";

export type CaAnswer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object becomes JSON. */
  readonly body?: object | string;
};

/** A problem document (RFC 8555 6.7). */
export const problem = (
  status: number,
  type: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): CaAnswer => ({ status, headers, body: { type: `urn:ietf:params:acme:error:${type}`, detail } });

/** `cut`: the connection ends and nothing was done. `lost`: it was done, and the answer is lost. */
export type CaFault = {
  readonly at: CaPlace | "anywhere";
  /** As often; without it for as long as the CA is not repaired. */
  readonly calls?: number;
} & (
  | { readonly do: "cut" | "lost" }
  /** `before`: nothing was done. */
  | { readonly do: "answer"; readonly when: "before" | "after"; readonly answer: CaAnswer }
  | { readonly do: "flawed"; readonly flaw: CertificateFlaw }
  | { readonly do: "busy"; readonly reads: number }
);

export const isAtPlace = ({ at }: CaFault, place: CaPlace) => at === "anywhere" || at === place;

export const faultAnswer = (fault: CaFault | null, when: "before" | "after"): CaAnswer | null =>
  fault?.do === "answer" && fault.when === when ? fault.answer : null;
