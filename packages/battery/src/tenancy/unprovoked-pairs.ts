/**
 * Pairs of operation and status that the contract documents and that cannot be provoked here, each with why. The list
 * may only shrink.
 */
export const unprovokedPairs: { readonly [pair: string]: string } = {
  "getReferenceScript 503": "answered only by an installation without swagger-ui-dist; this one has it",
  "getReferenceStyle 503": "answered only by an installation without swagger-ui-dist; this one has it",
};
