import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { ConsoleParty } from "../../testing/console-parties.ts";
import { ConsoleWorld } from "../../testing/console-world.ts";

let consoles: ConsoleWorld;
beforeAll(async () => {
  consoles = await ConsoleWorld.open();
});
afterEach(() => consoles.endSessions());
afterAll(() => consoles?.close());

const nothing = Buffer.alloc(0);
const letter = Buffer.from("x");
const frameBytes = 64 * 1024;

function flood(
  { socket }: ConsoleParty,
  count: number,
  send: (socket: ConsoleParty["socket"]) => void,
): void {
  for (let sent = 0; sent < count && socket.readyState === socket.OPEN; sent += 1) send(socket);
}

/** No other caller may be delayed by it. */
async function longestAnswerMs(until: Promise<unknown>): Promise<number> {
  let isOver = false;
  until.finally(() => {
    isOver = true;
  });
  let longest = 0;
  while (!isOver) {
    const askedAt = performance.now();
    expect((await fetch(`${consoles.one.origin}/api/v1/healthz`)).status).toBe(200);
    longest = Math.max(longest, performance.now() - askedAt);
  }
  return longest;
}

it.each([
  ["empty messages", (socket: ConsoleParty["socket"]) => socket.send(nothing)],
  ["single characters", (socket: ConsoleParty["socket"]) => socket.send(letter)],
  ["sizes", (socket: ConsoleParty["socket"]) => socket.send('{"type":"resize","cols":80,"rows":25}')],
  ["pings", (socket: ConsoleParty["socket"]) => socket.ping()],
])(
  "a viewer who sends %s by the ten thousand before the region is there is disconnected",
  async (_what, send) => {
    const ticket = await consoles.ticketOf();
    const near = await consoles.browser(ticket);
    const ended = near.reason();
    flood(near, 150_000, send);
    expect(await longestAnswerMs(ended)).toBeLessThan(2_000);
    // A client that continues to send may be disconnected before it reads the reason.
    await consoles.untilClosed(ticket.session_id);
    expect((await consoles.rowOf(ticket.session_id)).end_reason).toBe("too_many_messages");
  },
);

it("a viewer who sends empty messages by the ten thousand later is disconnected, and the region's side with them", async () => {
  const { near, far } = await consoles.session();
  flood(near, 150_000, (socket) => socket.send(nothing));
  expect(await near.reason()).toBe("too_many_messages");
  expect(await far.reason()).toBe("too_many_messages");
});

it("a region that sends by the ten thousand before it has opened the console is cut off", async () => {
  const ticket = await consoles.ticketOf();
  const claimed = consoles.claim();
  const near = await consoles.browser(ticket);
  const far = await consoles.agent((await claimed).session_id);
  flood(far, 150_000, (socket) => socket.send(nothing));
  expect(await near.reason()).toBe("too_many_messages");
});

it("what a person types while the console opens arrives, and empty messages do not keep a session alive", async () => {
  const ticket = await consoles.ticketOf();
  const claimed = consoles.claim();
  const near = await consoles.browser(ticket);
  const typed = Array.from({ length: 600 }, (_, index) => String.fromCharCode(97 + (index % 26))).join("");
  for (const each of typed) {
    near.socket.send(nothing);
    near.socket.send(Buffer.from(each));
  }
  const far = await consoles.agent((await claimed).session_id);
  far.socket.send('{"type":"open"}');
  await far.until(({ byteCount }) => byteCount >= typed.length);
  expect(far.bytes.toString()).toBe(typed);
});

it("megabytes that a viewer sends before the region is there wait at the viewer, and arrive in order", async () => {
  const ticket = await consoles.ticketOf();
  const claimed = consoles.claim();
  const near = await consoles.browser(ticket);
  const sent = Buffer.alloc(12 * 1024 * 1024);
  for (let at = 0; at < sent.length; at += 4) sent.writeUInt32BE(at, at);
  for (let at = 0; at < sent.length; at += frameBytes) near.socket.send(sent.subarray(at, at + frameBytes));
  // An answer on another connection comes after what the API could read of this one meanwhile.
  for (let asked = 0; asked < 20; asked += 1)
    expect((await fetch(`${consoles.one.origin}/api/v1/healthz`)).status).toBe(200);
  // The kernel's buffers hold some megabytes, and the API less than one.
  expect(near.socket.bufferedAmount).toBeGreaterThan(3 * 1024 * 1024);
  expect(near.closed).toBeNull();
  const far = await consoles.agent((await claimed).session_id);
  far.socket.send('{"type":"open"}');
  await far.until(({ byteCount }) => byteCount >= sent.length);
  expect(far.bytes.equals(sent)).toBe(true);
});

it("empty messages are no use of a console by a person", async () => {
  const idle = await consoles.listen({ idleMs: 300 });
  const near = await consoles.browser(await consoles.ticketOf(), idle);
  const timer = setInterval(() => near.socket.send(nothing), 50);
  expect(await near.reason()).toBe("idle");
  clearInterval(timer);
  await idle.close();
});
