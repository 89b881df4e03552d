import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ConsoleParty, type ListeningReplica } from "../../testing/console-parties.ts";
import { ConsoleWorld } from "../../testing/console-world.ts";
import type { ServerWorld } from "../../testing/server-world.ts";
import { endLostConsoles } from "../../worker/end-lost-consoles.ts";

let consoles: ConsoleWorld;
let world: ServerWorld;
let one: ListeningReplica;
let two: ListeningReplica;
let serverId: string;

beforeAll(async () => {
  consoles = await ConsoleWorld.open();
  ({ servers: world, one, two, serverId } = consoles);
});
afterEach(() => consoles.endSessions());
afterAll(() => consoles.close());

describe("POST /servers/{server_id}/console (openServerConsole)", () => {
  test("answers a ticket of 60 seconds, for the kind the system has", async () => {
    const ticket = await consoles.ticketOf();
    expect(ticket).toMatchObject({
      type: "serial",
      protocol: "kule.console.serial.v1",
      features: ["paste", "resize"],
    });
    const leftMs = new Date(ticket.expires_at).getTime() - Date.now();
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThan(61_000);
    expect(ticket.url).not.toContain(ticket.ticket);
    const [row] = await world.rows("select * from console_session where id = $1", [ticket.session_id]);
    expect(JSON.stringify(row)).not.toContain(ticket.ticket);
    expect((await consoles.ticketOf(world.owned, { type: "vnc" })).type).toBe("vnc");
  });

  test("is refused while the server is off, and for what is to be removed", async () => {
    const off = await world.createRunning();
    await world.rows("update server set status = 'stopped', power_state = 'off' where id = $1", [off.id]);
    const answer = await world.owned.post(`/servers/${off.id}/console`, {});
    expect([answer.status, answer.body.code, answer.body.current_status]).toEqual([
      409,
      "invalid_state",
      "stopped",
    ]);
    expect((await world.server(off.id)).actions.console).toMatchObject({
      allowed: false,
      code: "invalid_state",
    });
    await world.owned.delete(`/servers/${off.id}`);
    expect((await world.owned.post(`/servers/${off.id}/console`, {})).body.code).toBe("resource_deleting");
  });

  test("is for members and above, and not for operators or other organisations", async () => {
    const organisation = world.organisation.id;
    const path = `/servers/${serverId}/console`;
    for (const [role, status] of [
      ["viewer", 403],
      ["member", 201],
    ] as const)
      expect((await (await world.world.addToken(organisation, role)).post(path, {})).status, role).toBe(
        status,
      );
    const operator = world.world.operator.with({ "Kule-Organisation": organisation });
    expect((await operator.post(path, {})).status).toBe(403);
    const other = await world.world.addOrganisation(`other-${randomUUID().slice(0, 8)}`);
    expect((await other.owner.post(path, {})).status).toBe(404);
  });

  test("is refused when the region is silent", async () => {
    await world.rows("update region set health_at = now() - interval '2 minutes', health_ok = true");
    const answer = await world.owned.post(`/servers/${serverId}/console`, {});
    expect([answer.status, answer.body.code]).toEqual([503, "region_unavailable"]);
    expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThan(0);
    await world.rows("update region set health_at = null");
  });

  test("is refused for the serial line of a Windows, which has none", async () => {
    const [{ image }] = await world.rows("select image from server where id = $1", [serverId]);
    await world.rows("update server set image = 'windows-2025' where id = $1", [serverId]);
    const answer = await world.owned.post(`/servers/${serverId}/console`, { type: "serial" });
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ field: "type", code: "not_one_of" }] },
    });
    expect((await world.owned.post(`/servers/${serverId}/console`, {})).body.type).toBe("vnc");
    await world.rows("update server set image = $2 where id = $1", [serverId, image]);
  });

  test("does not repeat the ticket on an idempotent replay", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const first = await world.owned.post(`/servers/${serverId}/console`, {}, headers);
    const again = await world.owned.post(`/servers/${serverId}/console`, {}, headers);
    expect(again.body).toEqual({ ...first.body, ticket: null, secret_withheld: true });
  });

  test("gives the serial line to one at a time: your own is replaced, another person's with take_over", async () => {
    const { near } = await consoles.session();
    const mine = await consoles.ticketOf();
    expect(await near.reason()).toBe("taken_over");
    const somebody = await world.world.addToken(world.organisation.id, "member");
    const refused = await somebody.post(`/servers/${serverId}/console`, {});
    expect([refused.status, refused.body.code]).toEqual([409, "console_in_use"]);
    await consoles.ticketOf(somebody, { take_over: true });
    await expect(consoles.browser(mine)).rejects.toThrow("401");
  });
});

describe("a ticket", () => {
  test("opens one websocket", async () => {
    const ticket = await consoles.ticketOf();
    await consoles.browser(ticket);
    await expect(consoles.browser(ticket)).rejects.toThrow("401");
    await expect(consoles.browser(ticket, two)).rejects.toThrow("401");
  });

  test("opens it for its own server, session and kind only", async () => {
    const other = (await world.createRunning()).id;
    const ticket = await consoles.ticketOf();
    const second = await consoles.ticketOf(world.owned, {}, other);
    await expect(consoles.browser({ ...ticket, protocol: "kule.console.vnc.v1" })).rejects.toThrow("401");
    await expect(consoles.browser({ ...ticket, url: ticket.url.replace(serverId, other) })).rejects.toThrow(
      "401",
    );
    await expect(consoles.browser({ ...ticket, ticket: second.ticket })).rejects.toThrow("401");
    await consoles.browser(ticket);
  });

  test("ends after its time", async () => {
    const ticket = await consoles.ticketOf();
    await world.rows("update console_session set ticket_expires_at = now() where id = $1", [
      ticket.session_id,
    ]);
    await expect(consoles.browser(ticket)).rejects.toThrow("401");
  });

  test("is invalid once the token that requested it is revoked", async () => {
    const minted = (await world.owned.post("/tokens", { name: randomUUID(), role: "member" })).body;
    const caller = world.owned.with({ Authorization: `Bearer ${minted.secret}` });
    const ticket = await consoles.ticketOf(caller);
    await world.owned.delete(`/tokens/${minted.token.id}`);
    await expect(consoles.browser(ticket)).rejects.toThrow("401");
  });

  test("is for its requester: another person's token with it is refused", async () => {
    const ticket = await consoles.ticketOf();
    const somebody = await world.world.addToken(world.organisation.id, "owner");
    await expect(
      consoles.browser(ticket, one, { authorization: `Bearer ${somebody.token}` }),
    ).rejects.toThrow("401");
    const again = await consoles.ticketOf();
    await consoles.browser(again, one, { authorization: `Bearer ${world.owned.token}` });
  });

  test("opens nothing for a page of another origin", async () => {
    const ticket = await consoles.ticketOf();
    await expect(consoles.browser(ticket, one, { origin: "https://evil.example" })).rejects.toThrow("403");
    await consoles.browser(ticket, one, {
      origin: new URL(world.world.replica.deps.settings.publicUrl).origin,
    });
  });
});

describe("a session", () => {
  test.each([
    ["one replica", () => [one, one]],
    ["two replicas", () => [one, two]],
  ] as const)("carries bytes both ways over %s", async (_what, replicas) => {
    const [from, to] = replicas();
    const { near, far } = await consoles.session(from, to);
    near.socket.send(Buffer.from("ls\r"));
    await far.until(({ bytes }) => bytes.toString() === "ls\r");
    far.socket.send(Buffer.from("bin etc\r\n"));
    await near.until(({ bytes }) => bytes.toString() === "bin etc\r\n");
    near.socket.send('{"type":"resize","cols":100,"rows":30}');
    await far.until(({ texts }) => texts.length === 1);
    expect(JSON.parse(far.texts[0] ?? "")).toEqual({ type: "resize", cols: 100, rows: 30 });
    far.socket.close(4000, "server_off");
    expect(await near.reason()).toBe("server_off");
  });

  test("keeps what was typed before the machine answered", async () => {
    const claimed = consoles.claim();
    const near = await consoles.browser(await consoles.ticketOf());
    near.socket.send(Buffer.from("early"));
    const far = await consoles.agent((await claimed).session_id, two);
    far.socket.send('{"type":"open"}');
    await far.until(({ bytes }) => bytes.toString() === "early");
  });

  test("is claimed once, and again by the same claim only", async () => {
    await consoles.browser(await consoles.ticketOf());
    const claimId = randomUUID();
    const first = await consoles.claim(5, claimId);
    expect(first).toMatchObject({
      kind: "ConsoleOpen",
      type: "serial",
      server: { id: serverId },
      vmid: expect.any(Number),
    });
    expect(await consoles.claim(0, claimId)).toEqual(first);
    expect(await consoles.claim(0)).toBeNull();
  });

  test("is not given to an agent that has closed its connection", async () => {
    await consoles.browser(await consoles.ticketOf());
    const { app, token } = world.agent.api;
    const body = { claim_id: randomUUID(), agent_version: "0.1.0", wait_seconds: 5 };
    const answer = await app.request("/api/v1/agent/consoles/claim", {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.abort(),
    });
    expect(answer.status).toBe(204);
    expect(await consoles.claim(0)).toMatchObject({ kind: "ConsoleOpen" });
  });

  test("belongs to its region", async () => {
    const elsewhere = await world.world.addRegion(`r-${randomUUID().slice(0, 8)}`);
    await consoles.browser(await consoles.ticketOf());
    const body = { claim_id: randomUUID(), agent_version: "0.1.0", wait_seconds: 0 };
    expect((await elsewhere.agent.post("/agent/consoles/claim", body)).status).toBe(204);
    const { session_id } = await consoles.claim();
    await expect(consoles.agent(session_id, one, elsewhere.agent.token)).rejects.toThrow("404");
    await expect(consoles.agent(session_id, one, world.owned.token)).rejects.toThrow("403");
    await expect(consoles.agent(session_id, one, "nobody")).rejects.toThrow("401");
    await consoles.agent(session_id);
    const url = `${one.origin.replace("http", "ws")}/internal/consoles/${session_id}`;
    await expect(ConsoleParty.open(url, ["kule.console.v1"], { "kule-relay": "guess" })).rejects.toThrow(
      "404",
    );
  });

  test("ends when the token is revoked", async () => {
    const minted = (await world.owned.post("/tokens", { name: randomUUID(), role: "member" })).body;
    const caller = world.owned.with({ Authorization: `Bearer ${minted.secret}` });
    const { near, far } = await consoles.session(one, two, {}, caller);
    await world.owned.delete(`/tokens/${minted.token.id}`);
    expect(await near.reason()).toBe("access_ended");
    await far.reason();
  });

  test("ends when the membership does", async () => {
    const email = `${randomUUID()}@example.org`;
    const added = await addMember(world.owned, { email, name: "Ada", role: "member" });
    const login = await world.owned.post("/auth/login", { email, password: added.password });
    const caller = world.owned.with({ Authorization: `Bearer ${login.body.token}` });
    const { near } = await consoles.session(one, one, {}, caller);
    await world.owned.delete(`/members/${added.member.id}`);
    expect(await near.reason()).toBe("access_ended");
  });

  test("ends when an operator locks the server", async () => {
    const locked = (await world.createRunning()).id;
    const near = await consoles.browser(await consoles.ticketOf(world.owned, {}, locked));
    const operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
    expect((await operator.post(`/servers/${locked}/lock`, { reason: "abuse" })).status).toBe(200);
    expect(await near.reason()).toBe("access_ended");
  });

  test("ends when the server is deleted", async () => {
    const doomed = (await world.createRunning()).id;
    const ticket = await consoles.ticketOf(world.owned, {}, doomed);
    const near = await consoles.browser(ticket);
    await world.owned.delete(`/servers/${doomed}`);
    expect(await near.reason()).toBe("server_deleted");
  });

  test("ends when no agent connects, without input, and after its maximum duration", async () => {
    const times = { connectMs: 300, idleMs: 600, lengthMs: 60_000 };
    const short = await consoles.listen(times);
    const long = await consoles.listen({ ...times, idleMs: 60_000, lengthMs: 900 });
    expect(await (await consoles.browser(await consoles.ticketOf(), short)).reason()).toBe("region_silent");
    expect(await (await consoles.session(short, one)).near.reason()).toBe("idle");
    expect(await (await consoles.session(long, one)).near.reason()).toBe("length");
    await Promise.all([short.close(), long.close()]);
  });

  test("does not take a viewer's automatic requests for a person's input", async () => {
    const short = await consoles.listen({ idleMs: 700 });
    const { near } = await consoles.session(short, short, { type: "vnc" });
    const timer = setInterval(() => near.socket.send(Buffer.from([3, 1, 0, 0, 0, 0, 1, 0, 1, 0])), 50);
    expect(await near.reason()).toBe("idle");
    clearInterval(timer);
    await short.close();
  });

  test("makes the machine wait for a reader that does not read", async () => {
    const { near, far } = await consoles.session(one, two);
    near.socket.pause();
    const block = Buffer.alloc(64 * 1024, "x");
    let sent = 0;
    // Until the far side's own buffer is full for a while: no side reads any more.
    for (let stuck = 0; stuck < 20; ) {
      if (far.socket.bufferedAmount > 2 ** 20) stuck += 1;
      else {
        far.socket.send(block);
        sent += block.length;
        stuck = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (sent > 256 * 2 ** 20) throw new Error("everything is taken, and kept by somebody");
    }
    // What is in transit lies in the kernel's buffers and in ours: some megabytes at most.
    expect((sent - far.socket.bufferedAmount) / 2 ** 20).toBeLessThan(24);
    near.socket.resume();
    await near.until(({ byteCount }) => byteCount === sent);
  }, 60_000);

  test("sends no more than a window beyond what was shown, to a client that acknowledges what it has shown", async () => {
    const { near, far } = await consoles.session();
    near.socket.send('{"type":"ack","bytes":0}');
    far.socket.send(Buffer.from("."));
    await near.until(({ byteCount }) => byteCount === 1);
    const block = Buffer.alloc(64 * 1024, "x");
    for (let n = 0; n < 64; n++) far.socket.send(block);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(near.byteCount).toBeLessThan(2 ** 20);
    near.socket.send(JSON.stringify({ type: "ack", bytes: near.byteCount }));
    const before = near.byteCount;
    await near.until(({ byteCount }) => byteCount > before);
  });

  test("stores no sizes for a machine that reads nothing", async () => {
    const generous = await consoles.listen({ viewerPace: { atOnce: 1_000_000, perSecond: 1 } });
    const { near, far } = await consoles.session(generous, generous);
    far.socket.pause();
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 600_000; n++) {
      near.socket.send(`{"type":"resize","cols":${(n % 900) + 1},"rows":40}`);
      if (near.socket.bufferedAmount > 2 ** 20) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    while (near.socket.bufferedAmount > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(100);
    far.socket.resume();
    await far.until(({ texts }) => texts.length > 0);
    await generous.close();
  }, 60_000);

  test("ends on what is not of the protocol, and on too long a frame", async () => {
    const first = await consoles.session();
    first.near.socket.send('{"type":"reboot"}');
    expect(await first.near.reason()).toBe("protocol");
    const second = await consoles.session();
    second.near.socket.send(Buffer.alloc(65 * 1024));
    await second.near.reason();
    await second.far.reason();
  });

  test("is audited with its end and why", async () => {
    const { ticket, near } = await consoles.session();
    near.socket.close();
    await near.reason();
    let rows: { action: string; details: { reason?: string } }[] = [];
    while (rows.length < 2)
      rows = await world.rows(
        "select action, details from audit where details->>'session' = $1 and action <> 'server.console' order by at",
        [ticket.session_id],
      );
    expect(rows.map(({ action, details }) => [action, details.reason])).toEqual([
      ["server.console_opened", undefined],
      ["server.console_closed", "closed"],
    ]);
  });
});

describe("a process that stops", () => {
  test("makes browsers reconnect, and no longer counts", async () => {
    const third = await consoles.listen();
    const { near, far } = await consoles.session(third, one);
    await third.stopConsoles();
    expect([await near.reason(), near.closed?.code]).toEqual(["restarting", 1012]);
    await far.reason();
    await third.close();
    await (await consoles.session()).near.socket.close();
  });

  test("leaves sessions that count for no limit and are ended by the clean-up", async () => {
    const third = await consoles.listen();
    const { ticket, far } = await consoles.session(third, one);
    await world.rows("update replica set seen_at = now() - interval '1 minute' where address = $1", [
      third.origin,
    ]);
    await third.die();
    await far.reason();
    // What a killed process leaves: the end is not written.
    await consoles.untilClosed(ticket.session_id);
    await world.rows("update console_session set state = 'open', closed_at = null where id = $1", [
      ticket.session_id,
    ]);
    const somebody = await world.world.addToken(world.organisation.id, "member");
    await consoles.ticketOf(somebody);
    const ended = await endLostConsoles(world.world.replica.deps.db);
    expect(ended).toBeGreaterThanOrEqual(1);
    expect(await consoles.rowOf(ticket.session_id)).toMatchObject({ state: "closed", end_reason: "lost" });
  });
});

test("a connection that breaks off during the check of its ticket affects no other", async () => {
  const { hostname, port } = new URL(one.origin);
  for (let n = 0; n < 20; n++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    const ticket = await consoles.ticketOf();
    socket.write(
      `GET ${new URL(ticket.url).pathname} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: ${ticket.protocol}, kule.ticket.${ticket.ticket}\r\n\r\n`,
    );
    socket.resetAndDestroy();
  }
  await (await consoles.session()).near.socket.close();
});

test("an invalid websocket handshake uses up its ticket, and nothing else", async () => {
  const { hostname, port } = new URL(one.origin);
  const ticket = await consoles.ticketOf();
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (bytes) => {
    answer += bytes.toString();
  });
  socket.write(
    `GET ${new URL(ticket.url).pathname} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: short\r\nsec-websocket-protocol: ${ticket.protocol}, kule.ticket.${ticket.ticket}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.once("close", resolve));
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  await consoles.untilClosed(ticket.session_id);
});
