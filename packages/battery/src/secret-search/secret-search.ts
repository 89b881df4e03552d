import { type Needle, needlesOf } from "./needles.ts";

/** Something that must stay where it belongs. */
export type Secret = {
  /** Its name in a sentence: "the agent's token". */
  readonly what: string;
  readonly value: string;
};

/** A place where secrets must not be, with all that is in it. */
export type Sink = {
  readonly name: string;
  readonly text: string;
  /** Secrets (by `what`) whose place this is. */
  readonly mayHold?: ReadonlySet<string>;
  /** Something that is known to be in it: a search that does not find this is blind. */
  readonly control: string;
};

export type Hit = { readonly sink: string; readonly what: string; readonly encoding: string };

export type SearchResult = {
  readonly hits: readonly Hit[];
  readonly bytes: number;
  readonly blind: readonly string[];
};

/** Searches for every secret in every encoding in every place. */
export function searchSecrets(secrets: readonly Secret[], sinks: readonly Sink[]): SearchResult {
  const forms = secrets.map((secret) => ({ secret, needles: needlesOf(secret.value) }));
  const hits: Hit[] = [];
  const blind: string[] = [];
  let bytes = 0;
  for (const sink of sinks) {
    bytes += Buffer.byteLength(sink.text);
    if (sink.control === "" || !sink.text.includes(sink.control)) blind.push(sink.name);
    for (const { secret, needles } of forms) {
      if (sink.mayHold?.has(secret.what)) continue;
      const needle = firstIn(sink.text, needles);
      if (needle !== null) hits.push({ sink: sink.name, what: secret.what, encoding: needle.encoding });
    }
  }
  return { hits, bytes, blind };
}

function firstIn(text: string, needles: readonly Needle[]): Needle | null {
  return needles.find((needle) => text.includes(needle.text)) ?? null;
}

/** Hits and blind searches as sentences. */
export function secretViolations({ hits, blind }: SearchResult): string[] {
  return [
    ...hits.map(({ sink, what, encoding }) => `${sink} holds ${what} (${encoding})`),
    ...blind.map((name) => `the search of ${name} does not find what is known to be there`),
  ];
}
