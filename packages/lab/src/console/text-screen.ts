import type { ConsoleClient } from "./console-client.ts";
import { Framebuffer } from "./framebuffer.ts";
import type { Screen } from "./rfb-server.ts";

const COLUMNS = 80;
const ROWS = 25;
const SCALE = 2;
const CELL_WIDTH = 12;
const CELL_HEIGHT = 18;
const INK = 0xd6dce4;
const PAPER = 0x101418;

/** Keys whose number is not their character. */
const KEYS: Readonly<Record<number, string>> = {
  65288: "\x7f",
  65289: "\t",
  65293: "\r",
  65421: "\r",
  65307: "\x1b",
  65535: "\x1b[3~",
  65360: "\x1b[H",
  65367: "\x1b[F",
  65361: "\x1b[D",
  65362: "\x1b[A",
  65363: "\x1b[C",
  65364: "\x1b[B",
};
const CONTROL_KEYS = new Set([0xffe3, 0xffe4]);

/**
 * vncterm's screen for a serial line: a terminal drawn into a picture. It is a client of the line like any
 * other.
 */
export class TextScreen implements ConsoleClient, Screen {
  readonly frame = new Framebuffer(COLUMNS * CELL_WIDTH, ROWS * CELL_HEIGHT);
  readonly name: string;
  readonly isReady = true;
  readonly #typed: (bytes: Uint8Array) => void;
  readonly #closed: () => void;
  readonly #decoder = new TextDecoder();
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  #escape = "";
  #control = false;

  constructor(name: string, typed: (bytes: Uint8Array) => void, closed: () => void) {
    this.name = name;
    this.#typed = typed;
    this.#closed = closed;
    this.#draw(0, ROWS);
  }

  send(bytes: Uint8Array): void {
    let first = this.#row;
    let last = this.#row;
    for (const character of this.#decoder.decode(bytes, { stream: true })) {
      const scrolled = this.#put(character);
      first = scrolled ? 0 : Math.min(first, this.#row);
      last = scrolled ? ROWS - 1 : Math.max(last, this.#row);
    }
    this.#draw(first, last + 1);
  }

  onReady(): void {
    // A picture accepts everything.
  }

  close(): void {
    this.#closed();
  }

  key(keysym: number, down: boolean): void {
    if (CONTROL_KEYS.has(keysym)) this.#control = down;
    if (!down) return;
    const named = KEYS[keysym];
    const character =
      keysym < 0x100
        ? String.fromCodePoint(keysym)
        : keysym > 0x0100_0000
          ? String.fromCodePoint(keysym - 0x0100_0000)
          : "";
    const text =
      named ??
      (this.#control && /^[a-z]$/i.test(character)
        ? String.fromCharCode(character.toUpperCase().charCodeAt(0) - 64)
        : character);
    if (text !== "") this.#typed(Buffer.from(text));
  }

  pointer(): void {
    // A serial line has no pointer.
  }

  paste(text: string): void {
    this.#typed(Buffer.from(text.replaceAll("\n", "\r")));
  }

  /** True when everything has moved up or was cleared. */
  #put(character: string): boolean {
    if (this.#escape !== "") return this.#sequence(character);
    switch (character) {
      case "\x1b":
        this.#escape = character;
        return false;
      case "\r":
        this.#column = 0;
        return false;
      case "\n":
        return this.#newLine();
      case "\b":
        this.#column = Math.max(0, this.#column - 1);
        return false;
      default: {
        if (character < " ") return false;
        const scrolled = this.#column >= COLUMNS && this.#newLine();
        if (this.#column >= COLUMNS) this.#column = 0;
        const line = this.#line(this.#row);
        while (line.length < this.#column) line.push(" ");
        line[this.#column] = character;
        this.#column += 1;
        return scrolled;
      }
    }
  }

  #newLine(): boolean {
    if (this.#column >= COLUMNS) this.#column = 0;
    this.#row += 1;
    if (this.#row < ROWS) return false;
    this.#row = ROWS - 1;
    this.#lines.shift();
    return true;
  }

  /** Of the escape sequences those that our guests send: erase to the end of the line, home, clear. */
  #sequence(character: string): boolean {
    this.#escape += character;
    if (this.#escape === "\x1b[" || /^.\[[0-9;]+$/.test(this.#escape)) return false;
    const sequence = this.#escape;
    this.#escape = "";
    if (sequence === "\x1b[K")
      this.#line(this.#row).length = Math.min(this.#line(this.#row).length, this.#column);
    else if (sequence === "\x1b[H") this.#row = this.#column = 0;
    else if (sequence === "\x1b[2J") this.#lines = [];
    return sequence === "\x1b[2J";
  }

  #line(row: number): string[] {
    while (this.#lines.length <= row) this.#lines.push([]);
    return this.#lines[row] ?? [];
  }

  #draw(from: number, to: number): void {
    for (let row = from; row < to; row++) {
      const y = row * CELL_HEIGHT;
      this.frame.fill({ x: 0, y, width: this.frame.width, height: CELL_HEIGHT }, PAPER);
      for (const [column, character] of this.#line(row).entries()) {
        if (character !== " ") this.frame.text(column * CELL_WIDTH, y + 1, character, INK, SCALE);
      }
      if (row === this.#row) {
        this.frame.fill(
          { x: this.#column * CELL_WIDTH, y: y + CELL_HEIGHT - 3, width: CELL_WIDTH, height: 2 },
          INK,
        );
      }
    }
  }
}
