import type { Refusal } from "../decision.ts";
import { consoleInUse, quotaExceeded } from "../refusals.ts";
import { type ActionCode, type ActionDecision, allowed, refused } from "../servers/action-decision.ts";
import { actionRefused } from "../servers/action-refused.ts";
import { changeTheOwner, managedReason, type ServerOwner } from "../servers/owner.ts";

export type ConsoleType = "serial" | "vnc";

/** The facts about a server that decide about its console. */
export type ConsoleServer = {
  readonly id: string;
  readonly status: string;
  readonly powerState: "on" | "off" | "unknown";
  /** Why an operator has locked it; null when it is not locked. */
  readonly lockedFor: string | null;
  /** What it belongs to; null for a server of the customer's own. */
  readonly managedBy: ServerOwner | null;
};

/** A session that is not over. */
export type LiveSession = {
  readonly id: string;
  readonly serverId: string;
  readonly type: ConsoleType;
  /** The user, or the token that belongs to no person. */
  readonly subject: string;
};

export const consoleLimits = {
  /** A serial line is one socket of the machine. */
  serialPerServer: 1,
  vncPerServer: 4,
  perSubject: 10,
  perOrganisation: 50,
  ticketSeconds: 60,
  /** From the ticket's presentation until the region's side must be there. */
  connectSeconds: 10,
} as const;

/** The code of a console that cannot be opened, as `actions.console` and the 409 name it. */
export type ConsoleCode = ActionCode | "console_in_use" | "quota_exceeded";

/** In these a machine runs, starts or stops: that is when people use its console. */
const running = new Set(["running", "starting", "stopping", "rebooting"]);

/** Whether the server has a console now. */
export function decideConsole({
  status,
  powerState,
  lockedFor,
  managedBy,
}: Omit<ConsoleServer, "id">): ActionDecision {
  if (managedBy !== null) return refused("managed", managedReason(managedBy));
  if (lockedFor !== null) return refused("locked", `The server is locked by an operator: ${lockedFor}`);
  if (status === "pending_deletion") return refused("resource_deleting", "The server is marked for removal");
  if (status === "deleting" || status === "deleted")
    return refused("resource_deleting", "The server is being destroyed");
  if (status === "creating") return refused("invalid_state", "The server is being created");
  if (running.has(status) || powerState === "on") return allowed;
  return refused("invalid_state", "The server is off");
}

/** The console of an operating system. */
export const defaultConsole = (osFamily: "linux" | "windows"): ConsoleType =>
  osFamily === "windows" ? "vnc" : "serial";

/** The panel's features for a console of that kind. */
export const consoleFeatures = (type: ConsoleType): ("paste" | "resize" | "ctrl_alt_del")[] =>
  type === "serial" ? ["paste", "resize"] : ["paste", "ctrl_alt_del"];

export type SessionPlan = {
  /** Sessions that the new one replaces, by id, with their reason. */
  readonly ended: readonly string[];
  readonly refusals: readonly Refusal<ConsoleCode>[];
};

/**
 * Which sessions a new one replaces, and why it may be refused. `live` are those of the whole organisation.
 */
export function planSession(
  wanted: { readonly type: ConsoleType; readonly subject: string; readonly takeOver: boolean },
  server: ConsoleServer,
  live: readonly LiveSession[],
): SessionPlan {
  const decision = decideConsole(server);
  if (!decision.allowed) {
    const owner = server.managedBy;
    const around =
      owner === null
        ? { resource: server.id, fix: null }
        : { resource: owner.id, fix: changeTheOwner(owner) };
    return { ended: [], refusals: [actionRefused(decision, { ...around, state: "server_running" })] };
  }
  const same = live.filter(({ serverId, type }) => serverId === server.id && type === wanted.type);
  const limit = wanted.type === "serial" ? consoleLimits.serialPerServer : consoleLimits.vncPerServer;
  const inTheWay = same.slice(0, Math.max(0, same.length - limit + 1));
  // On the serial line one's own is replaced automatically: it is the tab that was closed, or lost its connection.
  const mine = wanted.type === "serial" ? inTheWay.filter(({ subject }) => subject === wanted.subject) : [];
  const ended = wanted.takeOver ? inTheWay : mine;
  const left = live.filter((each) => !ended.includes(each));
  return {
    ended: ended.map(({ id }) => id),
    refusals: limitsReached(wanted, server, inTheWay.length - ended.length, left),
  };
}

function limitsReached(
  wanted: { readonly subject: string },
  server: ConsoleServer,
  others: number,
  left: readonly LiveSession[],
): Refusal<ConsoleCode>[] {
  const refusals: Refusal<ConsoleCode>[] = [];
  if (others > 0)
    refusals.push(
      consoleInUse("console_free", "Somebody else has this console open", {
        resource: server.id,
        fix: `POST /servers/${server.id}/console {"take_over":true} ends the other session`,
      }),
    );
  if (left.filter(({ subject }) => subject === wanted.subject).length >= consoleLimits.perSubject)
    refusals.push(
      quotaExceeded(
        "quota_consoles_of_user",
        `You have ${consoleLimits.perSubject} consoles open, which is the most`,
        { fix: "Close one" },
      ),
    );
  if (left.length >= consoleLimits.perOrganisation)
    refusals.push(
      quotaExceeded(
        "quota_consoles_of_organisation",
        `The organisation has ${consoleLimits.perOrganisation} consoles open, which is the most`,
        { fix: "Close one" },
      ),
    );
  return refusals;
}
