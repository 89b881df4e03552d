import type { Command } from "../command.ts";
import { printable, textTable } from "../text-table.ts";

export const showRestore: Command = {
  noun: "restore",
  verb: "show",
  summary: "Show the last restore of the control plane's database, and what each region waits for",
  options: {},
  async run(_given, api) {
    const report = await api.ask(api.client().GET("/operator/restore"));
    const { restore, regions } = report;
    return {
      json: report,
      text: () =>
        restore === null
          ? "the database was never restored"
          : [
              `restored at ${restore.restored_at}, to ${restore.moment ?? "an unknown moment"}`,
              textTable(
                ["REGION", "STATE", "HELD VMS", "MISSING", "CHANGED", "IN BUFFER", "TO DESTROY", "LAST SCAN"],
                regions.map((region) => [
                  region.region,
                  region.state,
                  String(region.held_vms),
                  String(region.missing_servers),
                  String(region.changed_servers),
                  String(region.servers_in_removal_buffer),
                  String(region.servers_to_destroy),
                  printable(region.last_scan_trouble ?? "-"),
                ]),
              ),
              "docs/runbooks/backup-and-restore.md says what to do about each",
            ].join("\n"),
    };
  },
};
