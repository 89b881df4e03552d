import { setTimeout as delay } from "node:timers/promises";
import type { ConsoleParty } from "@kule/api/testing/console-parties";
import type { ConsoleWorld } from "@kule/api/testing/console-world";
import type { StreamCase } from "./streams.ts";

/** Within this both sides are closed. */
const endMs = 15_000;
const browserFrameBytes = 64 * 1024;
const agentFrameBytes = 160 * 1024;

type Sides = { readonly near: ConsoleParty; readonly far: ConsoleParty };

/**
 * Does something after which neither side may stay connected; returns which side still was, and what was
 * received.
 */
async function endsBoth(
  consoles: ConsoleWorld,
  what: string,
  act: (sides: Sides) => unknown,
  passedOn: (sides: Sides) => boolean = () => false,
  sides?: Sides,
): Promise<string[]> {
  const session = sides ?? (await consoles.session(consoles.one, consoles.two));
  const broken: string[] = [];
  await act(session);
  const closed = (party: ConsoleParty) =>
    Promise.race([
      party.until((each) => each.closed !== null).then(() => true),
      delay(endMs, false, { ref: false }),
    ]);
  const [near, far] = await Promise.all([closed(session.near), closed(session.far)]);
  if (!near) broken.push(`after ${what} the viewer's side was open for ${endMs / 1000} s more`);
  if (!far) broken.push(`after ${what} the region's side was open for ${endMs / 1000} s more`);
  if (passedOn(session)) broken.push(`${what} was passed on`);
  await consoles.endSessions();
  return broken;
}

/** The head of a frame that announces more than is ever sent: 2^40 bytes, masked as a viewer's must be. */
const endlessFrame = Buffer.from([0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4]);

const raw = ({ socket }: ConsoleParty, bytes: Buffer) =>
  (socket as unknown as { readonly _socket: { write(data: Buffer): void } })._socket.write(bytes);

export const refusesOversize: StreamCase = async (consoles) => [
  ...(await endsBoth(
    consoles,
    "a viewer's frame that is too long",
    ({ near }) => near.socket.send(Buffer.alloc(browserFrameBytes + 1)),
    ({ far }) => far.byteCount > 0,
  )),
  ...(await endsBoth(
    consoles,
    "a viewer's message in fragments that is too long",
    ({ near }) => {
      const part = Buffer.alloc(8 * 1024);
      for (let sent = 0; sent <= browserFrameBytes; sent += part.length)
        near.socket.send(part, { fin: sent + part.length > browserFrameBytes });
    },
    ({ far }) => far.byteCount > 0,
  )),
  ...(await endsBoth(consoles, "a viewer's frame that promises a terabyte", ({ near }) =>
    raw(near, endlessFrame),
  )),
  ...(await endsBoth(
    consoles,
    "a region's frame that is too long",
    ({ far }) => far.socket.send(Buffer.alloc(agentFrameBytes + 1)),
    ({ near }) => near.byteCount > 0,
  )),
];

export const refusesUnknownMessages: StreamCase = async (consoles) => {
  const broken: string[] = [];
  for (const [what, text] of Object.entries({
    "a viewer's word that is none": '{"type":"reboot"}',
    "a viewer's claim that the machine answers": '{"type":"open"}',
    "a viewer's text that is no JSON": "\x1b]52;c;cm0=\x07",
    "a viewer's deeply nested text": "[".repeat(20_000),
  }))
    broken.push(
      ...(await endsBoth(
        consoles,
        what,
        ({ near }) => near.socket.send(text),
        ({ far }) => far.texts.length > 0,
      )),
    );
  for (const [what, text] of Object.entries({
    "a region's second word that the machine answers": '{"type":"open"}',
    "a region's word for the viewer": '{"type":"resize","cols":1,"rows":1}',
  }))
    broken.push(
      ...(await endsBoth(
        consoles,
        what,
        ({ far }) => far.socket.send(text),
        ({ near }) => near.texts.length > 1,
      )),
    );
  return broken;
};

/**
 * Messages cost the same work whatever they contain: a side that sends them without end is disconnected, with
 * or without the machine.
 */
export const refusesFloods: StreamCase = async (consoles) => {
  const flood = ({ socket }: ConsoleParty) => {
    for (let sent = 0; sent < 150_000 && socket.readyState === socket.OPEN; sent += 1)
      socket.send(Buffer.alloc(0));
  };
  const broken = [
    ...(await endsBoth(consoles, "150000 empty messages of a viewer", ({ near }) => flood(near))),
    ...(await endsBoth(consoles, "150000 empty messages of a region's side", ({ far }) => flood(far))),
  ];
  const early = await consoles.browser(await consoles.ticketOf());
  flood(early);
  const reason = await Promise.race([early.reason(), delay(endMs)]);
  if (reason !== "too_many_messages")
    broken.push(`150000 empty messages before the region is there end the session as ${reason}`);
  await consoles.endSessions();
  return broken;
};

/**
 * The end of one side ends the other, whichever process each of them was connected to, and whatever they were
 * reading.
 */
export const endsTogether: StreamCase = async (consoles) => {
  const relaying = await consoles.listen();
  const holding = await consoles.listen();
  return [
    ...(await endsBoth(consoles, "the death of the region's side", ({ far }) => far.socket.terminate())),
    ...(await endsBoth(consoles, "the death of the viewer", ({ near }) => near.socket.terminate())),
    ...(await endsBoth(
      consoles,
      "the death of the region's side while the viewer reads nothing",
      async (sides) => {
        await fill(sides);
        sides.far.socket.terminate();
        sides.near.socket.resume();
      },
    )),
    ...(await endsBoth(
      consoles,
      "the death of the process between the two",
      () => relaying.die(),
      undefined,
      await consoles.session(consoles.one, relaying),
    )),
    ...(await endsBoth(
      consoles,
      "the death of the process that holds the session",
      () => holding.die(),
      undefined,
      await consoles.session(holding, consoles.two),
    )),
  ];
};

/** Sends so much that a side has to wait. */
async function fill({ near, far }: Sides): Promise<void> {
  near.socket.pause();
  const block = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < 64 * 2 ** 20 && far.socket.bufferedAmount < 2 ** 20; sent += block.length) {
    far.socket.send(block);
    await delay(2);
  }
}
