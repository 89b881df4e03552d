/** A word or a quoted string of a zone file. Escapes are as they were written. */
export type Token = { readonly text: string; readonly isQuoted: boolean };

/** A record or directive: one line, or several in parentheses. */
export type Entry = {
  /** In which it begins, from 1. */
  readonly line: number;
  /** It begins with a blank: it has the owner of the record before it. */
  readonly inheritsOwner: boolean;
  readonly tokens: readonly Token[];
  /** Why its tokens are not all that was meant; null for a whole entry. */
  readonly defect: EntryDefect | null;
};

export type EntryDefect = "unclosed_quote" | "unclosed_parenthesis" | "stray_parenthesis" | "too_many_tokens";

/** No record needs more: a TXT value has at most 100 strings, and a hash is rarely written in more groups. */
const maxTokens = 1_000;

/**
 * Divides a zone file (RFC 1035, section 5) into entries and these into tokens: comments, blanks, parentheses and
 * quotes are understood, names and values are not. Every character is looked at once.
 */
export function* zoneFileEntries(text: string): Generator<Entry> {
  const scanner = new Scanner(text);
  while (!scanner.isAtEnd) {
    const entry = scanner.nextEntry();
    if (entry.tokens.length > 0 || entry.defect !== null) yield entry;
  }
}

class Scanner {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads to the end of the line, or to that of the line in which all parentheses are closed. */
  nextEntry(): Entry {
    const inheritsOwner = isBlank(this.#text[this.#at]);
    const tokens: Token[] = [];
    const line = this.#line;
    let depth = 0;
    let defect: EntryDefect | null = null;
    while (!this.isAtEnd) {
      const character = this.#text[this.#at];
      if (character === "\n") {
        this.#at += 1;
        this.#line += 1;
        if (depth === 0) return { line, inheritsOwner, tokens, defect };
      } else if (isBlank(character)) this.#at += 1;
      else if (character === ";") this.#skipComment();
      else if (character === "(" || character === ")") {
        this.#at += 1;
        depth += character === "(" ? 1 : -1;
        if (depth < 0) [depth, defect] = [0, defect ?? "stray_parenthesis"];
      } else {
        const token = character === '"' ? this.#quotedToken() : this.#plainToken();
        if (token === null) defect ??= "unclosed_quote";
        else if (tokens.length < maxTokens) tokens.push(token);
        else defect ??= "too_many_tokens";
      }
    }
    return { line, inheritsOwner, tokens, defect: depth > 0 ? "unclosed_parenthesis" : defect };
  }

  #skipComment(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  /** Null when the line ends before the string does: the next line is read as if it had ended. */
  #quotedToken(): Token | null {
    const start = this.#at + 1;
    let at = start;
    while (at < this.#text.length && this.#text[at] !== "\n") {
      if (this.#text[at] === '"') {
        this.#at = at + 1;
        return { text: this.#text.slice(start, at), isQuoted: true };
      }
      at += this.#lengthAt(at);
    }
    this.#at = at;
    return null;
  }

  #plainToken(): Token {
    const start = this.#at;
    while (!this.isAtEnd && !endsPlainToken(this.#text[this.#at])) this.#at += this.#lengthAt(this.#at);
    return { text: this.#text.slice(start, this.#at), isQuoted: false };
  }

  /** An escaped character belongs to its backslash, unless it ends the line. */
  #lengthAt(at: number): number {
    const next = this.#text[at + 1];
    return this.#text[at] === "\\" && next !== undefined && next !== "\n" ? 2 : 1;
  }
}

const isBlank = (character: string | undefined) =>
  character === " " || character === "\t" || character === "\r";

const endsPlainToken = (character: string | undefined) =>
  isBlank(character) ||
  character === "\n" ||
  character === ";" ||
  character === "(" ||
  character === ")" ||
  character === '"';
