import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { findServer } from "../servers/index.ts";
import { claimConsole } from "./claim-console.ts";
import { endServerConsoleSession } from "./end-server-console-session.ts";
import { checkOpenServerConsole, openServerConsole } from "./open-server-console.ts";
import { viewSession } from "./session-view.ts";
import { findLiveSession, listLiveSessions } from "./store.ts";

/** The API calls. The websockets that follow them are handled in upgrade.ts. */
export function mountConsoles(api: Api): void {
  operation(api, "openServerConsole", {
    find: (request) => findServer(request.db, request.organisationId, request.pathId("server_id", "srv")),
    check: checkOpenServerConsole,
    mutate: openServerConsole,
  });
  operation(api, "listServerConsoleSessions", {
    find: (request) => findServer(request.db, request.organisationId, request.pathId("server_id", "srv")),
    handle: async (request, server) => {
      const { rows, nextCursor } = await listLiveSessions(
        request.db,
        request.organisationId,
        server.id,
        request.query,
      );
      const items = rows.map((row) => viewSession(row, request.caller));
      return reply(200, { items, next_cursor: nextCursor });
    },
  });
  operation(api, "endServerConsoleSession", {
    find: (request) =>
      findLiveSession(
        request.db,
        request.organisationId,
        request.pathId("server_id", "srv"),
        request.pathId("session_id", "con"),
      ),
    mutate: endServerConsoleSession,
  });
  operation(api, "claimConsole", { handle: claimConsole });
}
