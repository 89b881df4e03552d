import { setTimeout as delay } from "node:timers/promises";
import type { ConsoleParty } from "@kule/api/testing/console-parties";
import type { ConsoleWorld } from "@kule/api/testing/console-world";

/** One promise about what goes through a console put to the test; answers what was broken. */
export type StreamCase = (consoles: ConsoleWorld, figures: StreamFigures) => Promise<readonly string[]>;

/** The most that was seen in any case, in MiB. */
export type StreamFigures = { underWayMb: number; grownMb: number };

/**
 * A side that reads nothing is sent this much and no more; a relay that buffers everything would accept it.
 */
const mostOfferedBytes = 192 * 2 ** 20;
/** Buffers of the kernel and of every hop on the way; each hop stops at a quarter of a megabyte. */
const mostUnderWayBytes = 24 * 2 ** 20;
/**
 * The memory of a process does not grow with the bytes of a stream; garbage that is not collected yet does
 * not count.
 */
const mostGrownBytes = 112 * 2 ** 20;
/** A far side's own buffer that has been full for this many checks: no side reads any more. */
const checksUntilStuck = 20;

/** What a guest may send to attack its viewer. None of it concerns the relay. */
export const hostileBytes: Readonly<Record<string, Buffer>> = {
  "text for the clipboard (OSC 52)": Buffer.from("\x1b]52;c;cm0gLXJmIC8K\x07\x1b]52;p;?\x1b\\"),
  "a question whose answer is typed (DA, DSR, DECRQSS)": Buffer.from('\x1b[c\x1b[6n\x1bP$q"p\x1b\\\x1b[21t'),
  "a sequence without an end": Buffer.concat([Buffer.from("\x1b]0;"), Buffer.alloc(60_000, "t")]),
  "a message of the protocol as bytes": Buffer.from('{"type":"open"}{"type":"ack","bytes":99999999}'),
  "a screen's clipboard of four gigabytes": Buffer.from([3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x41, 0x42]),
  "bytes that are no text": Buffer.from(Array.from({ length: 512 }, (_, index) => (index * 197) & 0xff)),
};

/** All bytes arrive as they were sent: none of them become a message of the protocol, or end anything. */
export const passesHostileBytes: StreamCase = async (consoles) => {
  const broken: string[] = [];
  for (const type of ["serial", "vnc"] as const)
    for (const [what, bytes] of Object.entries(hostileBytes)) {
      const { near, far } = await consoles.session(consoles.one, consoles.two, { type });
      const said = near.texts.length;
      far.socket.send(bytes);
      near.socket.send(bytes);
      const arrived = (party: ConsoleParty) => party.byteCount >= bytes.length || party.closed !== null;
      await Promise.race([Promise.all([near.until(arrived), far.until(arrived)]), delay(3_000)]);
      for (const [side, { bytes: got, closed }] of Object.entries({ viewer: near, machine: far }))
        if (closed !== null) broken.push(`${type}: ${what} ended the session (${closed.reason})`);
        else if (!got.equals(bytes)) broken.push(`${type}: the ${side} was not sent ${what} as it was`);
      if (near.texts.length > said)
        broken.push(`${type}: ${what} reached the viewer as a message: ${near.texts.at(-1)}`);
      await consoles.endSessions();
    }
  return broken;
};

/** A side that does not read makes the writer wait, all the way; when it reads again, nothing is lost. */
const waits =
  (reader: "viewer" | "machine", type: "serial" | "vnc"): StreamCase =>
  async (consoles, figures) => {
    const { near, far } = await consoles.session(consoles.one, consoles.two, { type });
    const [slow, writer] = reader === "viewer" ? [near, far] : [far, near];
    slow.socket.pause();
    const before = process.memoryUsage().rss;
    let most = before;
    const block = Buffer.alloc(48 * 1024, hostileBytes["text for the clipboard (OSC 52)"]);
    let sent = 0;
    for (let stuck = 0; stuck < checksUntilStuck && sent < mostOfferedBytes; ) {
      if (writer.closed !== null)
        return [`${type}: a ${reader} that reads nothing ended the session at once`];
      if (writer.socket.bufferedAmount > 2 ** 20) stuck += 1;
      else {
        writer.socket.send(block);
        sent += block.length;
        stuck = 0;
      }
      await delay(5);
      most = Math.max(most, process.memoryUsage().rss);
    }
    const underWay = sent - writer.socket.bufferedAmount;
    const grown = most - before;
    figures.underWayMb = Math.max(figures.underWayMb, underWay / 2 ** 20);
    figures.grownMb = Math.max(figures.grownMb, grown / 2 ** 20);
    const mb = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`;
    const broken: string[] = [];
    if (underWay > mostUnderWayBytes)
      broken.push(`${type}: ${mb(underWay)} were taken for a ${reader} that reads nothing`);
    else if (grown > mostGrownBytes)
      broken.push(`${type}: memory grew by ${mb(grown)} for a ${reader} that reads nothing`);
    else {
      slow.socket.resume();
      await Promise.race([slow.until(({ byteCount }) => byteCount >= sent), delay(20_000)]);
      if (slow.byteCount !== sent)
        broken.push(`${type}: ${slow.byteCount} of ${sent} bytes came to a ${reader} that read again`);
    }
    await consoles.endSessions();
    return broken;
  };

export const makesWritersWait: readonly StreamCase[] = [
  waits("viewer", "serial"),
  waits("viewer", "vnc"),
  waits("machine", "serial"),
];

/** A viewer that acknowledges what it has shown is sent no more than a window beyond it. */
export const respectsWindow: StreamCase = async (consoles) => {
  const { near, far } = await consoles.session();
  near.socket.send('{"type":"ack","bytes":0}');
  far.socket.send(Buffer.from("."));
  await near.until(({ byteCount }) => byteCount === 1);
  const block = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < 64; sent += 1) far.socket.send(block);
  await delay(1_000);
  const beyond = near.byteCount;
  await consoles.endSessions();
  return beyond < 2 ** 20 ? [] : [`a viewer that has shown nothing was sent ${beyond} bytes`];
};
