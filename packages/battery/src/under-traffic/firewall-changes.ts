import { isDeepStrictEqual } from "node:util";
import {
  filterCast,
  filterChanges,
  filtersInTurn,
  openFilterStage,
} from "@kule/programs/testing/filter-stage";
import { Flows } from "@kule/testing/packets/flows";
import { answeringPort } from "@kule/testing/packets/packet-machine";
import { vm, type WiredLab } from "@kule/testing/packets/wired-lab";
import type { RowRun } from "../row.ts";
import type { Numbers } from "./numbers.ts";
import { changeUnder, silentOpeners, type Tally, type Traffic } from "./traffic.ts";

/** A server's firewall goes from each filter to each by its program, call by call. */
export async function changeFirewalls(lab: WiredLab, run: RowRun, numbers: Numbers, tally: Tally) {
  const { server, friend, stranger, apply, end } = await openFilterStage(lab);
  const flows = new Flows(lab.wires.inMachine(filterCast.friend.vmid));
  const to = filterCast.server.address;
  try {
    const traffic: Traffic = {
      flows: [flows],
      everyMs: numbers.everyMs,
      allowed: [
        { name: "a new connection to the server", by: friend, protocol: "tcp", to },
        { name: "a new datagram to the server", by: friend, protocol: "udp", to },
      ],
      denied: [
        { name: "the stranger's connection", by: stranger, protocol: "tcp", to },
        { name: "the stranger's answered datagram", by: stranger, protocol: "udp", to },
      ],
      forbidden: [
        {
          name: "the stranger's datagram",
          at: server,
          from: (source) => source !== filterCast.friend.address,
        },
      ],
    };
    const [first] = filtersInTurn;
    if (first === undefined) throw new Error("there is no filter");
    await apply(first);
    await lab.settled();
    const kind = { to, port: answeringPort };
    await flows.open({ ...kind, name: "connection to the server", protocol: "tcp", count: numbers.tcp });
    await flows.open({ ...kind, name: "datagrams to the server", protocol: "udp", count: numbers.udp });
    for (const { from, to: wanted } of filterChanges(run.scale === "full" ? filtersInTurn.length - 1 : 1)) {
      const what = `the firewall from ${from.id} to ${wanted.id}`;
      await changeUnder(traffic, what, () => apply(wanted), tally);
      const [held, meant] = [await rulesOf(lab), wanted.rules.map(({ id }) => id)];
      if (!isDeepStrictEqual(held, meant))
        tally.violations.push(`${what}: nothing was changed, or not all: the VM has ${held.join(", ")}`);
      run.progress(`${tally.changes} changes of a firewall, ${tally.spoken} answers to ${flows.count} flows`);
    }
    // At the end, and not before: a flow that was let in once is answered to its end.
    await apply({ id: "none", is_filtered: false, rules: [] });
    await lab.settled();
    tally.violations.push(...(await silentOpeners(traffic.denied)));
    return flows.count;
  } finally {
    await flows.end();
    end();
  }
}

/** The rules that are in force on the server, by their ids, as the hypervisor lists them. */
async function rulesOf(lab: WiredLab): Promise<readonly string[]> {
  const { data } = await lab.call(`GET ${vm(filterCast.server.vmid)}/firewall/rules`);
  const rules = data as readonly {
    readonly pos: number;
    readonly enable?: number;
    readonly comment?: string;
  }[];
  return rules
    .filter(({ enable }) => Number(enable) === 1)
    .toSorted((one, other) => one.pos - other.pos)
    .map(({ comment = "" }) => comment.trim())
    .filter((id) => id.startsWith("fwr_"));
}
