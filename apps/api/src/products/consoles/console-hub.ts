import { setTimeout as delay } from "node:timers/promises";
import { consoleLimits } from "@kule/rules/consoles/console";
import type { WebSocket } from "ws";
import { findCaller } from "../../platform/caller.ts";
import type { Deps } from "../../platform/deps.ts";
import type { TokenKind } from "../../platform/tokens.ts";
import { LiveSession, type SessionTimes } from "./live-session.ts";
import { auditSession } from "./session-audit.ts";
import { heldSessions, markClosed, markOpen, type SessionRow } from "./store.ts";

const lookEveryMs = 5_000;
/** How long a browser's handshake may take once its ticket is redeemed. */
const handshakeMs = 1_000;
const endedServers = new Set(["pending_deletion", "deleting", "deleted"]);

/** The sessions whose browsers are connected to this process, and what the database says of them. */
export class ConsoleHub {
  readonly #deps: Deps;
  readonly #replicaId: string;
  readonly #times: SessionTimes;
  readonly #sessions = new Map<string, LiveSession>();
  readonly #ending = new Set<Promise<void>>();
  readonly #unsubscribe: (() => void)[];
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #isStopping = false;

  constructor(deps: Deps, replicaId: string, times: Partial<SessionTimes> = {}) {
    this.#deps = deps;
    this.#replicaId = replicaId;
    this.#times = {
      connectMs: consoleLimits.connectSeconds * 1000,
      idleMs: deps.settings.consoleIdleSeconds * 1000,
      lengthMs: deps.settings.consoleLengthSeconds * 1000,
      pingMs: 15_000,
      stuckMs: 60_000,
      ...times,
    };
    const { notifications } = deps;
    this.#unsubscribe = [
      notifications.subscribe("kule_console", (payload) => {
        if (payload === null || this.#sessions.has(payload.replace("session:", ""))) this.look();
      }),
      notifications.subscribe("kule_token", () => this.look()),
    ];
    this.#timer = setInterval(() => this.look(), lookEveryMs);
    this.#timer.unref();
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** A browser with a session that was just redeemed here. */
  acceptBrowser(row: SessionRow, browser: WebSocket): void {
    const session = new LiveSession(row, browser, this.#times, {
      opened: () => this.#run(this.#noteOpened(row)),
      ended: (end) => {
        this.#sessions.delete(row.id);
        this.#run(this.#noteEnded(row, end));
      },
    });
    this.#sessions.set(row.id, session);
    if (this.#isStopping) session.end("restarting");
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

  /** Looks whether every session may go on; one look at a time. */
  look(): void {
    if (this.#sessions.size === 0) return;
    this.#looking ??= this.#lookOnce()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, "could not look after consoles"))
      .finally(() => {
        this.#looking = null;
      });
  }

  /** Ends every session and waits until that is written; browsers are told to come back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const session of [...this.#sessions.values()]) session.end("restarting");
    await this.#looking;
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  async #lookOnce(): Promise<void> {
    const { db } = this.#deps;
    const rows = await heldSessions(db, this.#replicaId);
    const mayUse = new Map<string, Promise<boolean>>();
    for (const row of rows) {
      const session = this.#sessions.get(row.id);
      if (session === undefined) {
        // Its end could not be written at the time.
        if (row.is_settled === true) await markClosed(db, row, { reason: "lost", bytesIn: 0, bytesOut: 0 });
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
  }

  /** Whether who asked for the ticket might ask for it now. */
  async #mayUse(row: Pick<SessionRow, "token_id" | "token_kind" | "organisation_id">): Promise<boolean> {
    return mayStillUse(this.#deps, row);
  }

  async #noteOpened(row: SessionRow): Promise<void> {
    await markOpen(this.#deps.db, row);
    await auditSession(this.#deps.db, row, "opened", {});
  }

  async #noteEnded(row: SessionRow, end: Parameters<typeof markClosed>[2]): Promise<void> {
    await this.#deps.db.transaction().execute(async (tx) => {
      if (!(await markClosed(tx, row, end))) return;
      const { reason, bytesIn, bytesOut } = end;
      await auditSession(tx, row, "closed", { reason, bytes_in: bytesIn, bytes_out: bytesOut });
    });
  }

  #run(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "could not note what became of a console"),
      )
      .finally(() => this.#ending.delete(done));
    this.#ending.add(done);
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
