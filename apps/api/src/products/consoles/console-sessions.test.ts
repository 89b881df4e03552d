import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import type { ApiCaller } from "../../testing/api-caller.ts";
import type { ListeningReplica } from "../../testing/console-parties.ts";
import { ConsoleWorld } from "../../testing/console-world.ts";
import type { ServerWorld } from "../../testing/server-world.ts";
import { endLostConsoles } from "../../worker/end-lost-consoles.ts";

/** A process that relied on its periodic check alone would be much later than this. */
const atOnceMs = 10_000;

let consoles: ConsoleWorld;
/** A process that relies on notifications. */
let told: ListeningReplica;
let world: ServerWorld;
let path: string;

beforeAll(async () => {
  consoles = await ConsoleWorld.open();
  world = consoles.servers;
  told = await consoles.listen({ checkMs: 60_000 });
  path = `/servers/${consoles.serverId}/console-sessions`;
});
afterEach(() => consoles.endSessions());
afterAll(async () => {
  await told.close();
  await consoles.close();
});

const list = async (caller: ApiCaller = world.owned, of = path) => {
  const answer = await caller.get(of);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.items;
};

async function within(ms: number, wait: Promise<string>): Promise<string> {
  const startedAt = performance.now();
  const reason = await wait;
  expect(performance.now() - startedAt).toBeLessThan(ms);
  return reason;
}

async function signIn(role: string): Promise<{ caller: ApiCaller; memberId: string; email: string }> {
  const email = `${randomUUID()}@example.org`;
  const added = await addMember(world.owned, { email, name: "Ada", role });
  const login = await world.owned.post("/auth/login", { email, password: added.password });
  const caller = world.owned.with({ Authorization: `Bearer ${login.body.token}` });
  return { caller, memberId: added.member.id, email };
}

describe("GET /servers/{server_id}/console-sessions (listServerConsoleSessions)", () => {
  test("shows who is connected since when, and what went both ways", async () => {
    const { caller } = await signIn("member");
    const ticket = await consoles.ticketOf(caller);
    expect(await list()).toMatchObject([{ id: ticket.session_id, state: "ticketed", opened_at: null }]);
    const { ticket: taken, near, far } = await consoles.session(consoles.one, consoles.two, {}, caller);
    near.socket.send(Buffer.from("ls\r"));
    far.socket.send(Buffer.from("bin etc\r\n"));
    await near.until(({ byteCount }) => byteCount === 9);
    await expect
      .poll(async () => list(caller), { timeout: 15_000, interval: 200 })
      .toMatchObject([
        {
          id: taken.session_id,
          server_id: consoles.serverId,
          type: "serial",
          state: "open",
          actor: { type: "user", name: "Ada" },
          is_own: true,
          bytes_in: 3,
          bytes_out: 9,
          opened_at: expect.any(String),
          last_activity_at: expect.any(String),
        },
      ]);
    expect((await list())[0].is_own).toBe(false);
    near.socket.close();
    await consoles.untilClosed(taken.session_id);
    expect(await list()).toEqual([]);
  });

  test("comes in pages, and only of the server", async () => {
    const other = (await world.createRunning()).id;
    await consoles.ticketOf(world.owned, {}, other);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++)
      ids.unshift((await consoles.ticketOf(world.owned, { type: "vnc" })).session_id);
    const first = (await world.owned.get(`${path}?limit=2`)).body;
    const second = (await world.owned.get(`${path}?limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
  });

  test("is for viewers too, and shows nothing of others", async () => {
    const ticket = await consoles.ticketOf();
    const viewer = await world.world.addToken(world.organisation.id, "viewer");
    expect((await list(viewer)).map(({ id }: { id: string }) => id)).toEqual([ticket.session_id]);
    expect(JSON.stringify(await list(viewer))).not.toContain(ticket.ticket);
    const other = await world.world.addOrganisation(`other-${randomUUID().slice(0, 8)}`);
    expect((await other.owner.get(path)).status).toBe(404);
  });
});

describe("DELETE /servers/{server_id}/console-sessions/{session_id} (endServerConsoleSession)", () => {
  test.each([
    ["the process that holds it", () => consoles.one],
    ["another process", () => told],
  ])("ends it at once when %s is requested", async (_what, home) => {
    const { ticket, near, far } = await consoles.session(home(), consoles.two);
    expect((await world.owned.delete(`${path}/${ticket.session_id}`)).status).toBe(204);
    expect(await list()).toEqual([]);
    expect(await within(atOnceMs, near.reason())).toBe("ended");
    await far.reason();
    await consoles.untilClosed(ticket.session_id);
    expect((await world.owned.delete(`${path}/${ticket.session_id}`)).status).toBe(404);
  });

  test("makes a ticket invalid", async () => {
    const ticket = await consoles.ticketOf();
    expect((await world.owned.delete(`${path}/${ticket.session_id}`)).status).toBe(204);
    await expect(consoles.browser(ticket)).rejects.toThrow("401");
  });

  test("ends a session that was ended between its ticket and its first check", async () => {
    const ticket = await consoles.ticketOf();
    const opening = consoles.browser(ticket);
    // Whichever is first: either the ticket opens nothing, or the session that it opened is ended.
    const ended = await world.owned.delete(`${path}/${ticket.session_id}`);
    expect(ended.status).toBe(204);
    const outcome = await opening.then((party) => within(atOnceMs, party.reason())).catch(String);
    expect(["ended", "Error: 401"]).toContain(outcome);
  });

  test("is for callers who may open a console: members, and neither viewers, operators nor others", async () => {
    const { ticket } = await consoles.session();
    const organisation = world.organisation.id;
    const one = `${path}/${ticket.session_id}`;
    const viewer = await world.world.addToken(organisation, "viewer");
    expect((await viewer.delete(one)).status).toBe(403);
    const operator = world.world.operator.with({ "Kule-Organisation": organisation });
    expect((await operator.delete(one)).status).toBe(403);
    const other = await world.world.addOrganisation(`other-${randomUUID().slice(0, 8)}`);
    expect((await other.owner.delete(one)).status).toBe(404);
    const elsewhere = (await world.createRunning()).id;
    expect((await world.owned.delete(one.replace(consoles.serverId, elsewhere))).status).toBe(404);
    expect(await list()).toHaveLength(1);
    const member = await world.world.addToken(organisation, "member");
    expect((await member.delete(one)).status).toBe(204);
  });

  test("is in the audit trail by who ended it, and the session with its begin, end and bytes", async () => {
    const { ticket, near } = await consoles.session();
    near.socket.send(Buffer.from("ls\r"));
    const colleague = await signIn("member");
    await colleague.caller.delete(`${path}/${ticket.session_id}`);
    await near.reason();
    const rows = await consoles.auditOf(ticket.session_id, 3);
    expect(rows.map(({ action, details }) => [action, details.reason]).sort()).toEqual([
      ["server.console_closed", "ended"],
      ["server.console_end", undefined],
      ["server.console_opened", undefined],
    ]);
    expect(rows.find(({ action }) => action === "server.console_end").actor_id).not.toBe(rows[0].actor_id);
    expect(rows.find(({ action }) => action === "server.console_closed").details.bytes_in).toBe(3);
  });
});

describe("a session ends at once with what it depends on", () => {
  test("when its member may open consoles no more", async () => {
    const { caller, memberId } = await signIn("member");
    const { near } = await consoles.session(told, consoles.two, {}, caller);
    expect((await world.owned.patch(`/members/${memberId}`, { role: "viewer" })).status).toBe(200);
    expect(await within(atOnceMs, near.reason())).toBe("access_ended");
  });

  test("when its member is removed, and when its token is revoked", async () => {
    const { caller, memberId } = await signIn("member");
    const first = await consoles.session(told, consoles.one, {}, caller);
    await world.owned.delete(`/members/${memberId}`);
    expect(await within(atOnceMs, first.near.reason())).toBe("access_ended");
    const minted = (await world.owned.post("/tokens", { name: randomUUID(), role: "member" })).body;
    const second = await consoles.session(
      told,
      consoles.one,
      {},
      world.owned.with({ Authorization: `Bearer ${minted.secret}` }),
    );
    await world.owned.delete(`/tokens/${minted.token.id}`);
    expect(await within(atOnceMs, second.near.reason())).toBe("access_ended");
  });

  test("when its server is locked, and when it is to be removed", async () => {
    const operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
    const locked = (await world.createRunning()).id;
    const first = await consoles.session(told, consoles.one, {}, world.owned, locked);
    expect((await operator.post(`/servers/${locked}/lock`, { reason: "abuse" })).status).toBe(200);
    expect(await within(atOnceMs, first.near.reason())).toBe("access_ended");
    const doomed = (await world.createRunning()).id;
    const second = await consoles.session(told, consoles.one, {}, world.owned, doomed);
    expect((await world.owned.delete(`/servers/${doomed}`)).status).toBe(202);
    expect(await within(atOnceMs, second.near.reason())).toBe("server_deleted");
  });

  test("when its organisation is suspended", async () => {
    const { near } = await consoles.session(told);
    const organisation = `/organisations/${world.organisation.id}`;
    expect((await world.world.operator.patch(organisation, { status: "suspended" })).status).toBe(200);
    expect(await within(atOnceMs, near.reason())).toBe("access_ended");
    expect((await world.world.operator.patch(organisation, { status: "active" })).status).toBe(200);
  });
});

describe("a session that no process ends", () => {
  test("is ended by the worker, with the bytes that were noted last, in the audit trail", async () => {
    const third = await consoles.listen();
    const { ticket, near, far } = await consoles.session(third, consoles.one);
    far.socket.send(Buffer.from("login: "));
    await near.until(({ byteCount }) => byteCount === 7);
    // Both are written by the process on its own, in any order.
    await expect
      .poll(() => consoles.rowOf(ticket.session_id), { timeout: 15_000 })
      .toMatchObject({ state: "open", bytes_out: "7" });
    await world.rows(
      "update replica set seen_at = now() - interval '1 minute' where id = (select replica_id from console_session where id = $1)",
      [ticket.session_id],
    );
    const { db } = world.world.replica.deps;
    await consoles.ticketOf(world.owned, { type: "vnc" });
    await world.rows("update console_session set ticket_expires_at = now() where state = 'ticketed'");
    expect(await endLostConsoles(db)).toBe(2);
    expect(await endLostConsoles(db)).toBe(0);
    const [, closed] = await consoles.auditOf(ticket.session_id, 2);
    expect(closed).toMatchObject({
      action: "server.console_closed",
      details: { reason: "lost", bytes_in: 0, bytes_out: 7 },
    });
    // Its process was only suspended, and counts as gone: it releases the sessions that others have ended.
    expect(await near.reason()).toBe("restarting");
    expect(await consoles.auditOf(ticket.session_id, 2)).toHaveLength(2);
    await third.close();
  });

  test("is ended by its process when the database was away at its end", async () => {
    const { ticket, near } = await consoles.session();
    await world.rows(
      "alter table console_session add constraint nobody_closes check (state <> 'closed') not valid",
    );
    near.socket.close();
    await near.reason();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await consoles.rowOf(ticket.session_id)).state).toBe("open");
    await world.rows("alter table console_session drop constraint nobody_closes");
    await consoles.untilClosed(ticket.session_id);
    expect(await consoles.auditOf(ticket.session_id, 2)).toMatchObject([
      { action: "server.console_opened" },
      { action: "server.console_closed", details: { reason: "closed" } },
    ]);
  });

  test("is ended by its process when its socket was never established", async () => {
    const ticket = await consoles.ticketOf();
    const { ticket: beside, near } = await consoles.session(consoles.one, consoles.one, { type: "vnc" });
    const { replica_id } = await consoles.rowOf(beside.session_id);
    near.socket.close();
    await near.reason();
    // The state that a process leaves when it fails between redeeming the ticket and the handshake.
    await world.rows(
      `update console_session set state = 'waiting', ticket_hash = null, replica_id = $2,
              redeemed_at = now() - interval '21 seconds' where id = $1`,
      [ticket.session_id, replica_id],
    );
    await consoles.untilClosed(ticket.session_id);
    expect(await consoles.auditOf(ticket.session_id, 1)).toMatchObject([{ details: { reason: "lost" } }]);
  }, 40_000);
});
