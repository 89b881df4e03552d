import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { addMember } from "@kule/api/testing/add-member";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { ConsoleParty } from "@kule/api/testing/console-parties";
import type { ConsoleWorld } from "@kule/api/testing/console-world";
import { made } from "@kule/api/testing/proofs/tenant";

/** One promise about tickets and sessions put to the test; answers what was broken. */
export type ConsoleCase = (consoles: ConsoleWorld) => Promise<readonly string[]>;

/** Shorter than a process' own check every five seconds: only a notification is this fast. */
const atOnceMs = 4_000;

export const consoleCases: readonly ConsoleCase[] = [
  async function oneOfManyOpens(consoles) {
    const ticket = await consoles.ticketOf();
    const tries = Array.from({ length: 50 }, (_, n) =>
      opens(consoles.browser(ticket, n % 2 === 0 ? consoles.one : consoles.two)),
    );
    const opened = (await Promise.all(tries)).filter((each) => each === "open").length;
    return opened === 1 ? [] : [`of 50 who came with one ticket ${opened} were let in`];
  },
  async function wrongPlaces(consoles) {
    const { servers, serverId } = consoles;
    const other = (await servers.createRunning()).id;
    const ticket = await consoles.ticketOf();
    const second = await consoles.ticketOf(servers.owned, {}, other);
    const screen = await consoles.ticketOf(servers.owned, { type: "vnc" });
    const tries = {
      "for another kind of console": { ...ticket, protocol: "kule.console.vnc.v1" },
      "of a screen, for the serial line": { ...screen, protocol: "kule.console.serial.v1" },
      "for another server": { ...ticket, url: ticket.url.replace(serverId, other) },
      "of another session": { ...ticket, ticket: second.ticket },
      "that was made up": { ...ticket, ticket: "A".repeat(43) },
    };
    const broken = [];
    for (const [what, tried] of Object.entries(tries))
      if ((await opens(consoles.browser(tried))) === "open") broken.push(`a ticket ${what} opened a console`);
    return broken;
  },
  async function lateOnes(consoles) {
    const ticket = await consoles.ticketOf();
    await consoles.servers.rows("update console_session set ticket_expires_at = now() where id = $1", [
      ticket.session_id,
    ]);
    const expired = await opens(consoles.browser(ticket));
    const fresh = (await consoles.ticketOf()).expires_at;
    const leftMs = Date.parse(fresh) - Date.now();
    return [
      ...(expired === "open" ? ["a ticket that had run out opened a console"] : []),
      ...(leftMs > 61_000 ? [`a ticket lasts ${Math.round(leftMs / 1000)} seconds`] : []),
    ];
  },
  async function ofWhoLostTheRight(consoles) {
    const { servers } = consoles;
    const person = await signIn(consoles);
    const ofMember = await consoles.ticketOf(person.caller, { type: "vnc" });
    made(await servers.owned.patch(`/members/${person.memberId}`, { role: "viewer" }));
    const minted = made(await servers.owned.post("/tokens", { name: randomUUID(), role: "member" }));
    const ofToken = await consoles.ticketOf(
      servers.owned.with({ Authorization: `Bearer ${minted.secret}` }),
      { type: "vnc" },
    );
    made(await servers.owned.delete(`/tokens/${minted.token.id}`));
    return [
      ...((await opens(consoles.browser(ofMember))) === "open"
        ? ["a ticket opened a console though its member may not any more"]
        : []),
      ...((await opens(consoles.browser(ofToken))) === "open"
        ? ["a ticket opened a console though its token is revoked"]
        : []),
    ];
  },
  async function ofStrangers(consoles) {
    const { servers } = consoles;
    const ticket = await consoles.ticketOf(servers.owned, { type: "vnc" });
    const page = await opens(consoles.browser(ticket, consoles.one, { origin: "https://evil.example" }));
    const again = await consoles.ticketOf(servers.owned, { type: "vnc" });
    const somebody = await servers.world.addToken(servers.organisation.id, "owner");
    const other = await opens(
      consoles.browser(again, consoles.one, { authorization: `Bearer ${somebody.token}` }),
    );
    return [
      ...(page === "open" ? ["a page of another origin opened a console"] : []),
      ...(other === "open" ? ["another caller's ticket opened a console"] : []),
    ];
  },
  async function restsNowhere(consoles) {
    const ticket = await consoles.ticketOf();
    const [row] = await consoles.servers.rows(
      "select encode(ticket_hash, 'escape') || to_jsonb(s)::text as text from console_session s where id = $1",
      [ticket.session_id],
    );
    return row.text.includes(ticket.ticket) ? ["the database holds a ticket as it is"] : [];
  },
  async function keepsToItsLimits(consoles) {
    const { servers, serverId } = consoles;
    const callers = await Promise.all(
      Array.from({ length: 12 }, () => servers.world.addToken(servers.organisation.id, "member")),
    );
    const answers = await Promise.all(
      callers.map((caller) => caller.post(`/servers/${serverId}/console`, { type: "vnc" })),
    );
    const granted = answers.filter(({ status }) => status === 201).length;
    return granted === 4 ? [] : [`${granted} tickets for a screen that 4 may look at were given out at once`];
  },
  async function endsWithWhatItRestsOn(consoles) {
    const { servers, one, two } = consoles;
    const operator = servers.world.operator.with({ "Kule-Organisation": servers.organisation.id });
    const broken: string[] = [];
    const gone = async (what: string, near: ConsoleParty, change: () => Promise<unknown>) => {
      await change();
      if ((await endOf(near)) === null) broken.push(`a session went on though ${what}`);
      await consoles.endSessions();
    };
    const person = await signIn(consoles);
    const first = await consoles.session(two, one, {}, person.caller);
    await gone("its member may not any more", first.near, () =>
      servers.owned.patch(`/members/${person.memberId}`, { role: "viewer" }),
    );
    const locked = (await servers.createRunning()).id;
    const second = await consoles.session(two, one, {}, servers.owned, locked);
    await gone("its server is locked", second.near, () =>
      operator.post(`/servers/${locked}/lock`, { reason: "abuse" }),
    );
    const third = await consoles.session(two, one);
    await gone("somebody ended it", third.near, () =>
      servers.owned.delete(`/servers/${consoles.serverId}/console-sessions/${third.ticket.session_id}`),
    );
    return broken;
  },
  async function ofASleeper(consoles) {
    const { near, ticket } = await consoles.session(consoles.two);
    // As the worker does when a process has no heartbeat.
    await consoles.servers.rows(
      "update console_session set state = 'closed', closed_at = now(), end_reason = 'lost' where id = $1",
      [ticket.session_id],
    );
    const end = await endOf(near, 12_000);
    return end === null ? ["a session that others had ended went on where it was held"] : [];
  },
];

async function signIn({
  servers: { owned },
}: ConsoleWorld): Promise<{ caller: ApiCaller; memberId: string }> {
  const email = `${randomUUID()}@example.org`;
  const added = await addMember(owned, { email, name: "Ada", role: "member" });
  const login = made(await owned.post("/auth/login", { email, password: added.password }));
  return { caller: owned.with({ Authorization: `Bearer ${login.token}` }), memberId: added.member.id };
}

/** Whether the websocket was opened, or the status that refused it. */
const opens = (opening: Promise<ConsoleParty>): Promise<string> =>
  opening.then(
    () => "open",
    (error: Error) => error.message,
  );

/** Why it was closed, or null when it was not in time. */
const endOf = (party: ConsoleParty, ms = atOnceMs): Promise<string | null> =>
  Promise.race([party.reason(), delay(ms, null, { ref: false })]);
