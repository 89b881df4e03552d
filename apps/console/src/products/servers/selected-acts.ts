import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { attempt, type Outcome } from "../../api.ts";
import type { CalledOperation } from "../../api-operation.ts";
import type { ServerActionName } from "./why-not.ts";

type SelectedAct = {
  /** What the server says of the act, and the permission that the role needs. */
  readonly action: ServerActionName;
  readonly permission: string;
  /** The call for one server, as the page shows it. */
  called(id: string): CalledOperation;
  /** One call for one server; the key makes a repeat of the form harmless. */
  ask(api: ApiClient, id: string, key: string): Promise<Outcome<unknown>>;
};

const optionsOf = (id: string, key: string) => ({
  params: { path: { server_id: id }, header: { "Idempotency-Key": key } },
});

function power(action: "start" | "shutdown" | "reboot" | "stop"): SelectedAct {
  return {
    action,
    permission: "server:update",
    called: (id) => ({ operation: "powerServer", path: { server_id: id }, body: { action } }),
    ask: (api, id, key) =>
      attempt(api.POST("/servers/{server_id}/power", { ...optionsOf(id, key), body: { action } })),
  };
}

/** What can be asked of several servers at once: each of them is one call, as from its own page. */
export const selectedActs = {
  start: power("start"),
  shutdown: power("shutdown"),
  reboot: power("reboot"),
  stop: power("stop"),
  delete: {
    action: "delete",
    permission: "server:delete",
    called: (id) => ({ operation: "deleteServer", path: { server_id: id } }),
    ask: (api, id, key) => attempt(api.DELETE("/servers/{server_id}", optionsOf(id, key))),
  },
  restore: {
    action: "cancel_deletion",
    permission: "server:delete",
    called: (id) => ({ operation: "cancelServerDeletion", path: { server_id: id } }),
    ask: (api, id, key) => attempt(api.POST("/servers/{server_id}/cancel-deletion", optionsOf(id, key))),
  },
} as const satisfies Readonly<Record<string, SelectedAct>>;

export type SelectedActName = keyof typeof selectedActs;

export const selectedActNames = Object.keys(selectedActs) as SelectedActName[];

export function isSelectedAct(name: string | undefined | null): name is SelectedActName {
  return name !== undefined && name !== null && Object.hasOwn(selectedActs, name);
}

/** How one call of several ended. */
export type SelectedEnd = {
  readonly server: Pick<Schemas["Server"], "id" | "name">;
  readonly outcome: Outcome<unknown>;
};
