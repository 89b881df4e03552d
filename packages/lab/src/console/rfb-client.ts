/** A small RFB client for tests: signs in, requests the picture, and stores what it received. */
import { vncResponse } from "./vnc-auth.ts";

/** Bytes in and out of whatever carries them. */
export interface ByteStream {
  /** Exactly so many bytes. Rejects when the stream ends before. */
  read(length: number): Promise<Buffer>;
  write(bytes: Uint8Array): void;
}

export interface SeenScreen {
  readonly width: number;
  readonly height: number;
  readonly name: string;
}

/**
 * Does the handshake and signs in: with the password, or with none when none is required. Throws when it is
 * refused.
 */
export async function openRfb(stream: ByteStream, password: string | null): Promise<SeenScreen> {
  const version = (await stream.read(12)).toString("latin1");
  if (version !== "RFB 003.008\n") throw new Error(`not RFB 3.8: ${version}`);
  stream.write(Buffer.from(version));
  const count = (await stream.read(1))[0] ?? 0;
  const types = await stream.read(count);
  const wanted = password === null ? 1 : 2;
  if (!types.includes(wanted)) throw new Error(`the security types are ${[...types].join()}`);
  stream.write(Buffer.from([wanted]));
  if (password !== null) stream.write(vncResponse(password, await stream.read(16)));
  if ((await stream.read(4)).readUInt32BE(0) !== 0) {
    const length = (await stream.read(4)).readUInt32BE(0);
    throw new Error((await stream.read(length)).toString());
  }
  stream.write(Buffer.from([1]));
  const init = await stream.read(24);
  const name = (await stream.read(init.readUInt32BE(20))).toString();
  return { width: init.readUInt16BE(0), height: init.readUInt16BE(2), name };
}

/** Requests a part of the picture and waits for it: raw pixels of 32 bits, one rectangle. */
export async function nextUpdate(
  stream: ByteStream,
  screen: SeenScreen,
  incremental: boolean,
): Promise<{
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}> {
  const request = Buffer.alloc(10);
  request[0] = 3;
  request[1] = incremental ? 1 : 0;
  request.writeUInt16BE(screen.width, 6);
  request.writeUInt16BE(screen.height, 8);
  stream.write(request);
  const head = await stream.read(16);
  const [x, y, width, height] = [4, 6, 8, 10].map((at) => head.readUInt16BE(at)) as [
    number,
    number,
    number,
    number,
  ];
  return { x, y, width, height, pixels: await stream.read(width * height * 4) };
}

/** Presses and releases keys, in this order. */
export function typeKeys(stream: ByteStream, keysyms: readonly number[]): void {
  for (const keysym of keysyms) for (const down of [1, 0]) stream.write(keyEvent(keysym, down === 1));
}

export function keyEvent(keysym: number, down: boolean): Buffer {
  const event = Buffer.alloc(8);
  event[0] = 4;
  event[1] = down ? 1 : 0;
  event.writeUInt32BE(keysym, 4);
  return event;
}
