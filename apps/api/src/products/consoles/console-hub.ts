import { setTimeout as delay } from "node:timers/promises";
import { consoleLimits } from "@kule/rules/consoles/console";
import type { WebSocket } from "ws";
import { findCaller } from "../../platform/caller.ts";
import type { Deps } from "../../platform/deps.ts";
import type { TokenKind } from "../../platform/tokens.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { LiveSession, regionPace, type SessionTimes, viewerPace } from "./live-session.ts";
import { auditEnd, auditSession } from "./session-audit.ts";
import { SessionNotes } from "./session-notes.ts";
import {
  heldSessions,
  markClosed,
  markOpen,
  noteActivity,
  type SessionEnd,
  type SessionRow,
} from "./store.ts";

/** How long a browser's handshake may take after its ticket is redeemed. */
const handshakeMs = 1_000;
const endedServers = new Set(["pending_deletion", "deleting", "deleted"]);

/** The sessions whose browsers are connected to this process, and their rows in the database. */
export class ConsoleHub {
  readonly #deps: Deps;
  readonly #replicaId: string;
  readonly #times: SessionTimes;
  readonly #sessions = new Map<string, LiveSession>();
  readonly #notes: SessionNotes;
  /** The last counts of bytes that were written for each session. */
  readonly #noted = new Map<string, string>();
  readonly #unsubscribe: (() => void)[];
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #mustCheckAgain = false;
  #isStopping = false;

  constructor(deps: Deps, replicaId: string, times: Partial<SessionTimes> = {}) {
    this.#deps = deps;
    this.#replicaId = replicaId;
    this.#times = {
      connectMs: consoleLimits.connectSeconds * 1000,
      idleMs: deps.settings.consoleIdleSeconds * 1000,
      lengthMs: deps.settings.consoleLengthSeconds * 1000,
      checkMs: 5_000,
      pingMs: 15_000,
      stuckMs: 60_000,
      viewerPace,
      regionPace,
      ...times,
    };
    this.#notes = new SessionNotes((error) =>
      deps.log.warn({ err: error }, "could not record a console's state"),
    );
    const { notifications } = deps;
    this.#unsubscribe = [
      notifications.subscribe("kule_console", (payload) => {
        if (this.#concerns(payload)) this.look();
      }),
      notifications.subscribe("kule_token", () => {
        if (this.#sessions.size > 0) this.look();
      }),
    ];
    this.#timer = setInterval(() => this.look(), this.#times.checkMs);
    this.#timer.unref();
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** A browser with a session that was just redeemed here. */
  acceptBrowser(row: SessionRow, browser: WebSocket): void {
    const session = new LiveSession(row, browser, this.#times, {
      opened: () => this.#notes.add(row.id, () => this.#noteOpened(row)),
      ended: (end) => {
        this.#sessions.delete(row.id);
        this.#noted.delete(row.id);
        this.#notes.add(row.id, () => this.#noteEnded(row, end));
      },
    });
    this.#sessions.set(row.id, session);
    if (this.#isStopping) session.end("restarting");
    // An end that was requested after the ticket was redeemed was notified to a process that had no such
    // session yet.
    else this.look();
  }

  /** The region's side of a session that is held here; false when it is not, or has one. */
  acceptAgent(sessionId: string, agent: WebSocket): boolean {
    return this.#sessions.get(sessionId)?.attachAgent(agent) ?? false;
  }

  /** Whether the session is held here. One that was redeemed this moment has yet to finish its handshake. */
  async whenHeld(sessionId: string): Promise<boolean> {
    const deadline = performance.now() + handshakeMs;
    while (!this.#sessions.has(sessionId) && performance.now() < deadline) await delay(25);
    return this.#sessions.has(sessionId);
  }

  /**
   * Checks whether every session may continue; one check at a time, and one more for notifications that came
   * during it.
   */
  look(): void {
    if (this.#looking !== null) {
      this.#mustCheckAgain = true;
      return;
    }
    this.#looking = this.#lookOnce()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, "could not check consoles"))
      .finally(() => {
        this.#looking = null;
        if (!this.#mustCheckAgain || this.#isStopping) return;
        this.#mustCheckAgain = false;
        this.look();
      });
  }

  /** Ends every session and waits until that is written; browsers are told to reconnect. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const session of [...this.#sessions.values()]) session.end("restarting");
    await this.#looking;
    await this.#notes.writeAll();
  }

  /** Null means that messages may have been missed. */
  #concerns(payload: string | null): boolean {
    if (payload === null) return this.#sessions.size > 0;
    const [what, id = ""] = payload.split(":");
    if (what === "session") return this.#sessions.has(id);
    const rows = [...this.#sessions.values()].map(({ row }) => row);
    if (what === "server") return rows.some(({ server_id }) => server_id === id);
    return what === "organisation" && rows.some(({ organisation_id }) => organisation_id === id);
  }

  async #lookOnce(): Promise<void> {
    const { db } = this.#deps;
    await this.#notes.writeAll();
    const held = [...this.#sessions];
    const rows = await heldSessions(db, this.#replicaId);
    const known = new Set(rows.map(({ id }) => id));
    // This process was suspended for so long that it counted as gone: other processes have ended its
    // sessions.
    for (const [id, session] of held) if (!known.has(id)) session.end("restarting");
    const mayUse = new Map<string, Promise<boolean>>();
    for (const row of rows) {
      const session = this.#sessions.get(row.id);
      if (session === undefined) {
        // Redeemed here, and something went wrong before its socket was there.
        if (row.is_settled === true && !this.#notes.owes(row.id))
          this.#notes.add(row.id, () => this.#noteEnded(row, { reason: "lost", bytes: null }));
        continue;
      }
      if (row.end_reason !== null) session.end(row.end_reason);
      else if (endedServers.has(row.server_status)) session.end("server_deleted");
      else if (row.organisation_status !== "active" || row.is_locked) session.end("access_ended");
      else {
        const key = `${row.token_id} ${row.organisation_id}`;
        const allowed = mayUse.get(key) ?? this.#mayUse(row);
        mayUse.set(key, allowed);
        if (!(await allowed)) session.end("access_ended");
      }
    }
    await this.#noteActivity();
  }

  /** Writes the activity that the list of sessions shows; nothing for sessions without activity. */
  async #noteActivity(): Promise<void> {
    const changed = [...this.#sessions.values()].flatMap(({ row, activity }) => {
      const figures = `${activity.bytesIn} ${activity.bytesOut}`;
      if (this.#noted.get(row.id) === figures || activity.bytesIn + activity.bytesOut === 0) return [];
      this.#noted.set(row.id, figures);
      return [{ row, ...activity }];
    });
    await noteActivity(this.#deps.db, changed);
  }

  /** Whether the caller who got the ticket could get it now. */
  async #mayUse(row: Pick<SessionRow, "token_id" | "token_kind" | "organisation_id">): Promise<boolean> {
    return mayStillUse(this.#deps, row);
  }

  async #noteOpened(row: SessionRow): Promise<void> {
    await inTransaction(this.#deps.db, async (tx) => {
      if (await markOpen(tx, row)) await auditSession(tx, row, "opened", {});
    });
  }

  async #noteEnded(row: SessionRow, end: SessionEnd): Promise<void> {
    await inTransaction(this.#deps.db, async (tx) => {
      if (await markClosed(tx, row, end)) await auditEnd(tx, row, end);
    });
  }
}

/** Whether the token behind a session is valid and may open consoles in the session's organisation. */
export async function mayStillUse(
  deps: Pick<Deps, "db">,
  row: Pick<SessionRow, "token_id" | "token_kind" | "organisation_id">,
): Promise<boolean> {
  const token = { id: row.token_id, kind: row.token_kind as TokenKind, hash: Buffer.alloc(0) };
  const caller = (await findCaller(deps.db, token))?.caller;
  if (caller === undefined || !caller.permissions.has("server:console")) return false;
  return caller.isOperator || caller.organisation?.id === row.organisation_id;
}
