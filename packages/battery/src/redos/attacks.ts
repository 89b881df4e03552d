// Texts that make a backtracking matcher work hard. A pattern is slow when the same characters can be shared out
// among its parts in many ways and the end does not fit; so each text is: what leads up to a part, that part (or a
// run of parts) over and over, and an end that does not fit.

/** Characters that a pattern is unlikely to accept at its end; one of them makes it fail. */
const ends = ["", "\0", "!", "\n", "@", "\uffff", "-", " "] as const;

/** For patterns whose parts give no hint: usual attacks. */
const usualPumps = [
  "a",
  "A",
  "0",
  " ",
  "\t",
  "\n",
  ".",
  "/",
  "-",
  "=",
  ",",
  "a.",
  "a-",
  "a,",
  "a b",
  "1.1",
  "\\",
  '"',
  "%41",
  "::",
  "[",
  "(",
];

export type Attack = { readonly lead: string; readonly pump: string; readonly end: string };

export function attackText({ lead, pump, end }: Attack, length: number): string {
  const room = Math.max(0, length - lead.length - end.length);
  return lead + pump.repeat(Math.ceil(room / pump.length)).slice(0, room) + end;
}

/** Attacks derived from the parts of this pattern, and the usual ones. */
export function attacksOn(source: string): Attack[] {
  const parts = samplesOf(source);
  const attacks = new Map<string, Attack>();
  const add = (lead: string, pump: string) => {
    for (const end of ends) attacks.set(JSON.stringify([lead, pump, end]), { lead, pump, end });
  };
  for (const pump of usualPumps) add("", pump);
  for (let from = 0; from < parts.length; from += 1) {
    const lead = parts.slice(0, from).join("");
    for (let to = from + 1; to <= Math.min(parts.length, from + 3); to += 1) {
      add("", parts.slice(from, to).join(""));
      if (lead !== "") add(lead, parts.slice(from, to).join(""));
    }
    // Many beginnings: each is gone through to the end.
    if (from > 3) add("", lead);
  }
  if (parts.length > 3) add("", parts.join(""));
  return [...attacks.values()];
}

const classSamples: Readonly<Record<string, string>> = {
  d: "0",
  D: "a",
  w: "a",
  W: "-",
  s: " ",
  S: "a",
  n: "\n",
  r: "\r",
  t: "\t",
  f: "\f",
  v: "\v",
};

/** One character for each part of a pattern that takes one, in their order. Structure (groups, counts) is left out. */
export function samplesOf(source: string): string[] {
  const samples: string[] = [];
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at);
    const set = /^\[(\^?)((?:\\[\s\S]|[^\]\\])*)\]/.exec(rest);
    const escaped = /^\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]+)\}|[pP]\{[^}]*\}|([\s\S]))/i.exec(
      rest,
    );
    const structure = /^(?:\(\?(?:[:=!]|<[=!]|<\w+>)|\{\d+(?:,\d*)?\}|[()|^$*+?])/.exec(rest);
    if (set !== null) samples.push(...samplesOfSet(set[1] === "^", set[2] ?? ""));
    else if (escaped !== null) samples.push(...sampleOfEscape(escaped));
    else if (structure === null) samples.push(rest.startsWith(".") ? "a" : rest.charAt(0));
    at += (set ?? escaped ?? structure)?.[0].length ?? 1;
  }
  return samples;
}

function sampleOfEscape([, byte, unit, point, letter]: RegExpExecArray): string[] {
  const code = byte ?? unit ?? point;
  if (code !== undefined) return [String.fromCodePoint(Number.parseInt(code, 16))];
  if (letter === undefined) return ["a"];
  // Boundaries take no character.
  if (/[bB]/.test(letter)) return [];
  return [classSamples[letter] ?? letter];
}

/** The first and the last member, since sets overlap with their neighbours in some members only. */
function samplesOfSet(isNegated: boolean, members: string): string[] {
  if (isNegated) {
    const set = new RegExp(`[${members}]`);
    return ["a", ".", "0", " ", "/"].filter((each) => !set.test(each)).slice(0, 2);
  }
  const inside = samplesOf(members.replaceAll(/[()|$*+?{}.]/g, "\\$&")).filter((each) => each !== "");
  const [first] = inside;
  const last = inside.at(-1);
  return first === undefined || last === undefined ? [] : first === last ? [first] : [first, last];
}
