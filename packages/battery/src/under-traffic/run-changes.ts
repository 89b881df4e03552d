import { probeWires } from "@kule/lab/wires/wires";
import { WiredLab } from "@kule/testing/packets/wired-lab";
import type { RowResult, RowRun } from "../row.ts";
import { changeEdge } from "./edge-changes.ts";
import { changeFirewalls } from "./firewall-changes.ts";
import { numbers, publicBridge, someone } from "./numbers.ts";
import { newTally } from "./traffic.ts";

/** Changes a server's firewall, and a network's rules on the edge, while flows pass through them. */
export async function runChanges(run: RowRun): Promise<RowResult> {
  const missing = await probeWires();
  if (missing !== undefined) throw new Error(`the packets need a network of their own: ${missing}`);
  const lab = await WiredLab.start({
    networks: [{ bridge: publicBridge, vlan: null, addresses: ["203.0.113.1/24"] }],
    beyond: [someone],
  });
  const [firewalls, edge] = [newTally(), newTally()];
  try {
    const through = await changeFirewalls(lab, run, numbers[run.scale], firewalls);
    await lab.leaveMachines();
    const past = await changeEdge(lab, run, numbers[run.scale], edge);
    const sum = (key: "spoken" | "opened" | "denied" | "leaked" | "lost") => firewalls[key] + edge[key];
    return {
      cases: firewalls.changes + edge.changes,
      violations: [...firewalls.violations, ...edge.violations],
      figures: {
        "changes of a firewall": firewalls.changes,
        "changes of an edge": edge.changes,
        "flows through a firewall": through,
        "flows through an edge": past,
        "answers to established flows": sum("spoken"),
        "new flows that are allowed": sum("opened"),
        "new flows that are not": sum("denied"),
        "packets lost": sum("lost"),
        "packets leaked": sum("leaked"),
      },
    };
  } finally {
    await lab.end();
  }
}
