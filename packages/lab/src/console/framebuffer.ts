import { GLYPH_COLUMNS, GLYPH_ROWS, glyphOf } from "./font.ts";

/** 0xRRGGBB */
export type Colour = number;

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A picture, and its changes since a given version. */
export class Framebuffer {
  readonly width: number;
  readonly height: number;
  readonly #pixels: Uint32Array;
  readonly #watchers = new Set<() => void>();
  /** Grows with every change; each watcher compares with what it has seen. */
  #changes: { readonly version: number; readonly area: Rectangle }[] = [];
  #version = 0;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.#pixels = new Uint32Array(width * height);
  }

  get version(): number {
    return this.#version;
  }

  pixel(x: number, y: number): Colour {
    return this.#pixels[y * this.width + x] ?? 0;
  }

  fill(area: Rectangle, colour: Colour): void {
    const inside = this.#clip(area);
    for (let y = inside.y; y < inside.y + inside.height; y++) {
      const start = y * this.width + inside.x;
      this.#pixels.fill(colour, start, start + inside.width);
    }
    this.#changed(inside);
  }

  /** Characters of 6 by 8 points, each point `scale` pixels wide. A background makes it opaque. */
  text(x: number, y: number, text: string, colour: Colour, scale = 2, background?: Colour): void {
    const width = text.length * (GLYPH_COLUMNS + 1) * scale;
    const area = { x, y, width, height: GLYPH_ROWS * scale };
    if (background !== undefined) this.fill(area, background);
    for (const [index, character] of [...text].entries()) {
      const left = x + index * (GLYPH_COLUMNS + 1) * scale;
      for (const [column, bits] of glyphOf(character).entries()) {
        for (let row = 0; row < GLYPH_ROWS; row++) {
          if (bits & (1 << row)) this.#block(left + column * scale, y + row * scale, scale, colour);
        }
      }
    }
    this.#changed(this.#clip(area));
  }

  /** The changes since `version`, as one rectangle; null when there are none. */
  changedSince(version: number): Rectangle | null {
    const newer = this.#changes.filter((each) => each.version > version);
    if (newer.length === 0) return null;
    const left = Math.min(...newer.map(({ area }) => area.x));
    const top = Math.min(...newer.map(({ area }) => area.y));
    const right = Math.max(...newer.map(({ area }) => area.x + area.width));
    const bottom = Math.max(...newer.map(({ area }) => area.y + area.height));
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  /** Calls back after each change; the result ends that. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  #block(x: number, y: number, size: number, colour: Colour): void {
    for (let row = y; row < Math.min(y + size, this.height); row++) {
      for (let column = x; column < Math.min(x + size, this.width); column++) {
        if (row >= 0 && column >= 0) this.#pixels[row * this.width + column] = colour;
      }
    }
  }

  #clip(area: Rectangle): Rectangle {
    const x = Math.min(Math.max(area.x, 0), this.width);
    const y = Math.min(Math.max(area.y, 0), this.height);
    const right = Math.min(Math.max(area.x + area.width, x), this.width);
    const bottom = Math.min(Math.max(area.y + area.height, y), this.height);
    return { x, y, width: right - x, height: bottom - y };
  }

  #changed(area: Rectangle): void {
    if (area.width === 0 || area.height === 0) return;
    this.#version += 1;
    this.#changes.push({ version: this.#version, area });
    // A viewer with a very old version gets the oldest changes as one: more than needed, never less.
    if (this.#changes.length > 256) this.#foldOldest();
    for (const watcher of this.#watchers) watcher();
  }

  #foldOldest(): void {
    const everything = { x: 0, y: 0, width: this.width, height: this.height };
    const kept = this.#changes.slice(-128);
    const folded = (this.#changes.at(-129)?.version ?? 0) as number;
    this.#changes = [{ version: folded, area: everything }, ...kept];
  }
}
