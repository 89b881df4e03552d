import type { Command } from "../command.ts";
import { printable, textTable } from "../text-table.ts";

const most = 10_000;

export const listHeldVms: Command = {
  noun: "restore",
  verb: "held-vms",
  summary: "List VMs that use numbers or addresses which the records have for free, after a restore",
  options: { region: { value: "SLUG", about: "only this region's" } },
  async run(given, api) {
    const region = given.one("region");
    const client = api.client();
    const { items, isWhole } = await api.all(most, (cursor) =>
      api.ask(
        client.GET("/operator/held-vms", {
          params: {
            query: {
              limit: 200,
              ...(cursor === undefined ? {} : { cursor }),
              ...(region === undefined ? {} : { region }),
            },
          },
        }),
      ),
    );
    return {
      json: { items },
      notes: isWhole ? [] : [`only the first ${most} are listed`],
      text: () =>
        items.length === 0
          ? "nothing is held back"
          : textTable(
              ["REGION", "VM", "NAME", "SERVER", "ORGANISATION", "HELD", "DISPUTED"],
              items.map((vm) => [
                vm.region,
                String(vm.vmid),
                printable(vm.name ?? "-"),
                printable(vm.server_id ?? "-"),
                printable(vm.organisation_name ?? vm.organisation_id ?? "-"),
                vm.held.map(({ kind, value }) => `${kind} ${value}`).join(", ") || "-",
                vm.disputed.map(({ kind, value, holder }) => `${kind} ${value} of ${holder}`).join(", ") ||
                  "-",
              ]),
            ),
    };
  },
};
