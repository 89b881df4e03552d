/** Seeds that found something, run first and every time, with what they found. */
export const REGRESSIONS: readonly { readonly seed: number; readonly found: string }[] = [
  {
    seed: 101_112,
    found: "an agent counted its lease from the last try of a report, the control plane from the first",
  },
  { seed: 104_092, found: "the same, with 25 s of the lease left" },
];
