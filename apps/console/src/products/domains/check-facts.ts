/** What a text about a problem of a check can name. */
export type CheckFacts = {
  readonly name: string;
  /** To be entered where the domain is registered. */
  readonly nameServers: string;
  readonly missing: string;
  readonly foreign: string;
  /** The name servers that the problem is about, with their addresses. */
  readonly servers: readonly string[];
  readonly ds: readonly string[];
  readonly parentDs: readonly string[];
};

export type CheckTexts = Readonly<
  Record<string, (facts: CheckFacts) => { readonly text: string; readonly fix: string }>
>;
