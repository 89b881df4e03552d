import type { Schemas } from "@kule/contract/schemas";
import type { ServerOwner } from "@kule/rules/servers/owner";
import type { Settings } from "../../platform/settings.ts";

/**
 * What a change of a server needs of who asks for it: a request of the API, or the product that the server belongs to
 * (managed.ts). Both take the same way from here on.
 */
export type ChangeOfServer = {
  readonly organisationId: string;
  /** Of the request. */
  readonly id: string;
  readonly caller: { readonly actor: Schemas["Actor"] };
  readonly dryRun: boolean;
  readonly deps: { readonly settings: Pick<Settings, "removalBufferSeconds"> };
  /** Throws for one who has seen another generation. */
  checkGeneration(row: { readonly generation: number }): void;
  /** The product's own: what changes its servers. A request of the API has none. */
  readonly owner?: ServerOwner;
};
