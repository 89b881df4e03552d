import { deflateSync } from "node:zlib";
import type { ConsoleParty } from "@kule/api/testing/console-parties";

export const [width, height] = [64, 48] as const;

const u8 = (...values: readonly number[]) => Buffer.from(values);
const u16 = (value: number) => u8(value >> 8, value & 0xff);
function s32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/**
 * The handshake of RFB 3.8 as a hypervisor does it, up to where the viewer has the screen; the guest chooses
 * its name.
 */
export async function greetViewer(machine: ConsoleParty, name: string): Promise<void> {
  const heard = (count: number) =>
    machine.until(({ byteCount, closed }) => byteCount >= count || closed !== null);
  machine.socket.send(Buffer.from("RFB 003.008\n"));
  await heard(12);
  machine.socket.send(u8(1, 1));
  await heard(13);
  machine.socket.send(s32(0));
  await heard(14);
  // 32 bits of true colour, the lowest byte blue.
  const format = Buffer.concat([u8(32, 24, 0, 1), u16(255), u16(255), u16(255), u8(16, 8, 0, 0, 0, 0)]);
  const title = Buffer.from(name);
  machine.socket.send(Buffer.concat([u16(width), u16(height), format, s32(title.length), title]));
  // Its encodings, and the first question for a picture.
  await heard(14 + 20);
}

/**
 * A picture of one colour, in the order that viewers request: once it is shown, all that came before was
 * read.
 */
export function picture(red: number, green: number, blue: number): Buffer {
  const pixel = u8(red, green, blue, 0);
  const pixels = Buffer.concat(Array.from({ length: width * height }, () => pixel));
  return Buffer.concat([u8(0, 0), u16(1), u16(0), u16(0), u16(width), u16(height), s32(0), pixels]);
}

/** The guest's clipboard in the old way: text for the viewer's. */
export function cutText(text: string): Buffer {
  return Buffer.concat([u8(3, 0, 0, 0), s32(text.length), Buffer.from(text, "latin1")]);
}

const textFormat = 1;
const [capabilities, provide] = [1 << 24, 1 << 28] as const;
const allActions = 0x1f00_0000;

/** The same in the new format: the guest's capabilities, and a text that was not requested. */
export function extendedCutTexts(text: string): Buffer[] {
  const bytes = Buffer.from(`${text}\0`);
  const extended = (flags: number, body: Buffer) =>
    Buffer.concat([u8(3, 0, 0, 0), s32(-(4 + body.length)), s32(flags), body]);
  return [
    extended(capabilities | allActions | textFormat, s32(2 ** 20)),
    extended(provide | textFormat, deflateSync(Buffer.concat([s32(bytes.length), bytes]))),
  ];
}
