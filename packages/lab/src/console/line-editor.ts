/** The result of a key. */
export type Edited =
  | { readonly kind: "line"; readonly line: string }
  | { readonly kind: "interrupt" }
  /** Ctrl-D on an empty line. */
  | { readonly kind: "end" }
  | { readonly kind: "clear" };

const ESCAPE = "\x1b";
const LONGEST_LINE = 4096;
const KEPT_LINES = 200;

/** A line as readline edits it on a terminal: the echo, and the finished lines. */
export class LineEditor {
  readonly #echo: (text: string) => void;
  readonly #history: string[] = [];
  #line: string[] = [];
  #cursor = 0;
  /** Counted from the newest; 0 is the line being written. */
  #back = 0;
  #draft = "";
  #escape = "";
  /** False: nothing typed is shown, as for a password. */
  visible = true;
  /** False: lines are neither kept nor called back. */
  remembers = true;

  constructor(echo: (text: string) => void) {
    this.#echo = echo;
  }

  get history(): readonly string[] {
    return this.#history;
  }

  /** The unfinished line, to be shown again after the screen was cleared. */
  get pending(): string {
    return this.visible ? this.#line.join("") : "";
  }

  reset(): void {
    this.#line = [];
    this.#cursor = 0;
    this.#back = 0;
    this.#escape = "";
  }

  /** One character; null while it has no result. */
  key(character: string): Edited | null {
    if (this.#escape !== "") {
      this.#sequence(character);
      return null;
    }
    switch (character) {
      case ESCAPE:
        this.#escape = ESCAPE;
        return null;
      case "\r":
      case "\n":
        return this.#enter();
      case "\x03":
        this.#echo("^C\r\n");
        this.reset();
        return { kind: "interrupt" };
      case "\x04":
        if (this.#line.length === 0) return { kind: "end" };
        this.#delete(this.#cursor);
        return null;
      case "\x0c":
        return { kind: "clear" };
      case "\x7f":
      case "\b":
        if (this.#cursor > 0) this.#delete(this.#cursor - 1);
        return null;
      case "\x01":
        this.#moveTo(0);
        return null;
      case "\x05":
        this.#moveTo(this.#line.length);
        return null;
      case "\x15":
        this.#replace(this.#line.slice(this.#cursor).join(""), 0);
        return null;
      case "\x0b":
        this.#replace(this.#line.slice(0, this.#cursor).join(""), this.#cursor);
        return null;
      case "\x17":
        this.#deleteWord();
        return null;
      default:
        if (character >= " " && this.#line.length < LONGEST_LINE) this.#insert(character);
        return null;
    }
  }

  #enter(): Edited {
    const line = this.#line.join("");
    this.#echo("\r\n");
    if (this.remembers && line.trim() !== "" && this.#history.at(-1) !== line) {
      this.#history.push(line);
      if (this.#history.length > KEPT_LINES) this.#history.shift();
    }
    this.reset();
    return { kind: "line", line };
  }

  #insert(character: string): void {
    this.#line.splice(this.#cursor, 0, character);
    this.#cursor += 1;
    this.#show(character + this.#rest(), this.#line.length - this.#cursor);
  }

  #delete(at: number): void {
    if (at >= this.#line.length) return;
    const back = this.#cursor - at;
    this.#line.splice(at, 1);
    this.#cursor = at;
    this.#show(`${"\b".repeat(back)}${this.#rest()} `, this.#line.length - this.#cursor + 1);
  }

  #deleteWord(): void {
    const before = this.#line
      .slice(0, this.#cursor)
      .join("")
      .replace(/\S*\s*$/, "");
    this.#replace(before + this.#rest(), before.length);
  }

  #rest(): string {
    return this.#line.slice(this.#cursor).join("");
  }

  #moveTo(target: number): void {
    if (target < this.#cursor) this.#show("\b".repeat(this.#cursor - target), 0);
    else this.#show(this.#line.slice(this.#cursor, target).join(""), 0);
    this.#cursor = target;
  }

  /** Writes another line over this one. */
  #replace(line: string, cursor: number): void {
    const start = "\b".repeat(this.#cursor);
    this.#line = [...line];
    this.#cursor = Math.min(cursor, this.#line.length);
    this.#show(`${start}${line}\x1b[K`, this.#line.length - this.#cursor);
  }

  #show(text: string, back: number): void {
    if (this.visible) this.#echo(text + "\b".repeat(back));
  }

  /** The rest of an escape sequence: arrows, Home, End, Delete; others are swallowed. */
  #sequence(character: string): void {
    this.#escape += character;
    if (this.#escape === `${ESCAPE}[` || this.#escape === `${ESCAPE}O`) return;
    if (this.#escape.length > 2 && /[0-9;]/.test(character) && this.#escape.length < 12) return;
    const sequence = this.#escape.slice(1);
    this.#escape = "";
    if (sequence === "[D" || sequence === "OD") this.#moveTo(Math.max(0, this.#cursor - 1));
    else if (sequence === "[C" || sequence === "OC")
      this.#moveTo(Math.min(this.#line.length, this.#cursor + 1));
    else if (sequence === "[H" || sequence === "OH" || sequence === "[1~") this.#moveTo(0);
    else if (sequence === "[F" || sequence === "OF" || sequence === "[4~") this.#moveTo(this.#line.length);
    else if (sequence === "[3~") this.#delete(this.#cursor);
    else if ((sequence === "[A" || sequence === "OA") && this.remembers) this.#recall(1);
    else if ((sequence === "[B" || sequence === "OB") && this.remembers) this.#recall(-1);
  }

  #recall(step: number): void {
    const target = this.#back + step;
    if (target < 0 || target > this.#history.length) return;
    if (this.#back === 0) this.#draft = this.#line.join("");
    this.#back = target;
    const line = target === 0 ? this.#draft : (this.#history.at(-target) ?? "");
    this.#replace(line, line.length);
  }
}
