import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

/** An open session of the serial line, used a moment ago. */
export function fakeConsoleSession(
  server: Pick<Schemas["Server"], "id">,
  more: Partial<Schemas["ConsoleSession"]> = {},
): Schemas["ConsoleSession"] {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  return {
    id: fakeId("con"),
    server_id: server.id,
    type: "serial",
    state: "open",
    actor: { type: "user", id: fakeId("usr"), name: "Barış Yılmaz" },
    is_own: false,
    bytes_in: 412,
    bytes_out: 48_230,
    created_at: minutesAgo(14),
    opened_at: minutesAgo(14),
    last_activity_at: minutesAgo(2),
    ...more,
  };
}

export function registerConsoleSessions(operation: Operation, state: FakeState): void {
  operation("get", "/servers/:server_id/console-sessions", "listServerConsoleSessions", ({ params }) => ({
    status: 200,
    body: {
      items: state.consoleSessions.filter(({ server_id }) => server_id === params.server_id),
      next_cursor: null,
    },
  }));
  operation(
    "delete",
    "/servers/:server_id/console-sessions/:session_id",
    "endServerConsoleSession",
    ({ params, fail }) => {
      const at = state.consoleSessions.findIndex(({ id }) => id === params.session_id);
      if (at < 0) return fail(404, "not_found", "no such resource");
      state.consoleSessions.splice(at, 1);
      return { status: 204 };
    },
  );
}
