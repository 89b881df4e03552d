import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { findServer } from "../servers/store.ts";
import { claimConsole } from "./claim-console.ts";
import { openServerConsole } from "./open-server-console.ts";

/** The calls. The websockets that follow them are of the server's upgrades, see upgrade.ts. */
export function mountConsoles(api: Api): void {
  operation(api, "openServerConsole", {
    find: (request) => findServer(request.db, request.organisationId, request.pathId("server_id", "srv")),
    mutate: openServerConsole,
  });
  operation(api, "claimConsole", { handle: claimConsole });
}
