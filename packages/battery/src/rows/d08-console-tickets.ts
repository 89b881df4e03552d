import { ConsoleWorld } from "@kule/api/testing/console-world";
import { consoleCases } from "../consoles/ticket-cases.ts";
import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";

const rounds = { sample: 1, full: 3 } as const;

const without = mutantsIn("apps/api/src/products/consoles");

export const row: Row = {
  id: "D8",
  title:
    "A console ticket opens one console, once, for its requester, and the session ends with the permission",
  minutes: 0.5,
  mutants: [
    without(
      "ticket-stays",
      "the change of state that uses a ticket up",
      "store.ts",
      '.set({ state: "waiting", ticket_hash: null, replica_id: replicaId, redeemed_at: now })',
      ".set({ replica_id: replicaId, redeemed_at: now })",
      /of 50 who came with one ticket/,
    ),
    without(
      "any-ticket",
      "the comparison of the ticket itself",
      "store.ts",
      '.where("ticket_hash", "=", ticket.hash)',
      '.where("ticket_hash", "is not", null)',
      /ticket (of another session|that was made up) opened/,
    ),
    without(
      "any-server",
      "the server in the search for a ticket",
      "store.ts",
      '.where("server_id", "=", ticket.serverId)',
      "",
      /ticket for another server opened/,
    ),
    without(
      "any-kind",
      "the kind of console in the search for a ticket",
      "store.ts",
      '.where("type", "=", ticket.type)',
      "",
      /ticket (for another kind of console|of a screen, for the serial line) opened/,
    ),
    without(
      "no-expiry",
      "the time after which a ticket opens nothing",
      "store.ts",
      '.where("ticket_expires_at", ">", now)',
      "",
      /ticket that had run out opened/,
    ),
    without(
      "right-not-looked-at",
      "the look at the right when a ticket is presented",
      "upgrade.ts",
      "if (!isOwn || !(await mayStillUse(deps, session)) || socket.destroyed) {",
      "if (!isOwn || socket.destroyed) {",
      /though its (member may not any more|token is revoked)/,
    ),
    without(
      "any-page",
      "the test of a page's origin",
      "upgrade.ts",
      "if (!allowed.includes(origin))",
      "if (allowed.length === 0)",
      /page of another origin opened/,
    ),
    without(
      "ticket-stored-plain",
      "the hash over a stored ticket",
      "ticket.ts",
      'createHash("sha256").update(ticket).digest();',
      "createHash === null ? Buffer.alloc(0) : Buffer.from(ticket);",
      /holds a ticket as it is/,
    ),
    without(
      "limits-without-lock",
      "the lock under which the sessions of an organisation are counted",
      "open-server-console.ts",
      "await lockSessions(tx, organisationId);",
      "void lockSessions;",
      /tickets for a screen that 4 may look at/,
    ),
    without(
      "session-outlives-its-right",
      "the look at the right while a session lasts",
      "console-hub.ts",
      'if (!(await allowed)) session.end("access_ended");',
      "await allowed;",
      /went on though its member may not/,
    ),
    without(
      "sleeper-keeps-sessions",
      "the end of what others have ended",
      "console-hub.ts",
      'for (const [id, session] of held) if (!known.has(id)) session.end("restarting");',
      "void [held, known];",
      /others had ended went on/,
    ),
  ],
  async run({ scale, progress }) {
    const violations: string[] = [];
    let cases = 0;
    const consoles = await ConsoleWorld.open();
    try {
      const all = Array.from({ length: rounds[scale] }, () => consoleCases).flat();
      for (const each of all) {
        try {
          violations.push(...(await each(consoles)));
          await consoles.endSessions();
        } catch (error) {
          // An earlier violation may keep a later case from being carried out.
          if (violations.length === 0) throw error;
          break;
        }
        cases += 1;
      }
      progress(`${cases} cases`);
    } finally {
      await consoles.close();
    }
    return { cases, violations: [...new Set(violations)] };
  },
};
