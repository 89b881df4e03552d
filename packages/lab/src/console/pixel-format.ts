import type { Framebuffer, Rectangle } from "./framebuffer.ts";

/** RFC 6143, 7.4; colour maps are not served. */
export interface PixelFormat {
  readonly bitsPerPixel: number;
  readonly bigEndian: boolean;
  readonly max: readonly [red: number, green: number, blue: number];
  readonly shift: readonly [red: number, green: number, blue: number];
}

/** The format that a real screen of QEMU announces. */
export const SERVER_FORMAT: PixelFormat = {
  bitsPerPixel: 32,
  bigEndian: false,
  max: [255, 255, 255],
  shift: [16, 8, 0],
};

export function encodeFormat(format: PixelFormat): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt8(format.bitsPerPixel, 0);
  bytes.writeUInt8(format.bitsPerPixel === 32 ? 24 : format.bitsPerPixel, 1);
  bytes.writeUInt8(format.bigEndian ? 1 : 0, 2);
  bytes.writeUInt8(1, 3);
  for (const [index, max] of format.max.entries()) bytes.writeUInt16BE(max, 4 + index * 2);
  for (const [index, shift] of format.shift.entries()) bytes.writeUInt8(shift, 10 + index);
  return bytes;
}

/** Null for what is not served: a colour map, or an odd size. */
export function decodeFormat(bytes: Buffer): PixelFormat | null {
  const bitsPerPixel = bytes.readUInt8(0);
  if (![8, 16, 32].includes(bitsPerPixel) || bytes.readUInt8(3) === 0) return null;
  return {
    bitsPerPixel,
    bigEndian: bytes.readUInt8(2) !== 0,
    max: [bytes.readUInt16BE(4), bytes.readUInt16BE(6), bytes.readUInt16BE(8)],
    shift: [bytes.readUInt8(10), bytes.readUInt8(11), bytes.readUInt8(12)],
  };
}

/** The pixels of an area, as the raw encoding has them. */
export function rawPixels(frame: Framebuffer, area: Rectangle, format: PixelFormat): Buffer {
  const size = format.bitsPerPixel / 8;
  const bytes = Buffer.alloc(area.width * area.height * size);
  const [redMax, greenMax, blueMax] = format.max;
  const [redShift, greenShift, blueShift] = format.shift;
  const scaled = (value: number, max: number): number =>
    max === 255 ? value : Math.round((value * max) / 255);
  let at = 0;
  for (let y = area.y; y < area.y + area.height; y++) {
    for (let x = area.x; x < area.x + area.width; x++) {
      const colour = frame.pixel(x, y);
      const value =
        (scaled((colour >> 16) & 255, redMax) << redShift) |
        (scaled((colour >> 8) & 255, greenMax) << greenShift) |
        (scaled(colour & 255, blueMax) << blueShift);
      if (size === 1) bytes[at] = value & 255;
      else if (format.bigEndian) bytes.writeUIntBE(value >>> 0, at, size);
      else bytes.writeUIntLE(value >>> 0, at, size);
      at += size;
    }
  }
  return bytes;
}
