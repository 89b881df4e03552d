import type { RequestBody } from "@kule/contract/schemas";
import type { Command } from "../command.ts";

export const endRestore: Command = forRegion(
  "end",
  "Say that what differs in a region after a restore was worked through: removals go on, and it cannot be taken back",
  { ended: true },
);

export const acceptIncompleteScan: Command = forRegion(
  "accept-incomplete-scan",
  "Allocate in a region after a restore though a node does not answer, as when it is lost",
  { accept_incomplete_scan: true },
);

function forRegion(verb: string, summary: string, body: RequestBody<"updateRegionRestore">): Command {
  return {
    noun: "restore",
    verb,
    summary,
    positionals: { names: "REGION", about: "the region's short name", least: 1, most: 1 },
    options: {},
    async run({ positionals: [region = ""] }, api) {
      const now = await api.ask(
        api.client().PATCH("/regions/{region}/restore", {
          params: { path: { region }, header: api.once() },
          body,
        }),
      );
      return { json: now, text: () => `${now.region} is ${now.state}` };
    },
  };
}
