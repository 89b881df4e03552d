import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { viewMe } from "./view.ts";

export function mountIdentity(api: Api): void {
  operation(api, "getMe", { handle: async ({ caller }) => reply(200, viewMe(caller)) });
}
