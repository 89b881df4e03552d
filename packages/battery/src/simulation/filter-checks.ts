// What must hold for a server's firewalls when nothing is left to do: its VM allows what they say, and
// nothing else.

import type { JobKind } from "@kule/contract/schemas";
import type { VmDocument } from "@kule/lab/documents";
import type { ModelServer } from "../reference-model/types.ts";
import { filterOf } from "./payloads.ts";
import type { Simulation } from "./simulation.ts";

const WRITES = new Set<JobKind>([
  "ServerCreate",
  "ServerRebuild",
  "PublicIpAttach",
  "PublicIpDetach",
  "FirewallApply",
]);

export function checkFilter(
  simulation: Simulation,
  server: ModelServer,
  vm: VmDocument,
  note: (text: string) => void,
): void {
  const { model, region, witness } = simulation;
  const { wanted, applied, failed } = server.filter;
  if (wanted !== applied) {
    if (!failed && server.observedGeneration > 0) note("I5: a server lacks its filter, and no job brings it");
    return;
  }
  // A server that no job has ever filtered has the rules of its template, or of the VM's creator.
  const last = server.jobs.findLast((job) => WRITES.has(job.kind));
  if (last?.status !== "succeeded") return;
  const file = region.region.store.get("firewall", String(vm.vmid));
  const filter = filterOf(model.state, server);
  const [first, ...live] = (file?.rules ?? []).filter(({ enable }) => enable === "1");
  const isBare = first?.action !== "DROP" || first.source !== "fe80::/10" || first.iface !== undefined;
  const said = live.map(
    ({ type, action, proto, dport }) => `${type} ${action} ${proto ?? "any"} ${dport ?? "all"}`,
  );
  const meant = filter.rules.map(({ ports }) => `in ACCEPT tcp ${ports.join(",")}`);
  if (!filter.is_filtered) meant.push("in ACCEPT any all");
  const policy = file?.options.policy_in ?? "DROP";
  const isRight =
    !isBare && said.join("; ") === meant.join("; ") && policy === "DROP" && file?.options.enable === "1";
  if (isRight) return;
  // No lease can stop a request that was in transit all that time.
  if (witness.lateConfigs.has(vm.vmid)) simulation.counts.lateDrift += 1;
  else
    note(
      `I3: the VM ${isBare ? "lets its cable in, " : ""}lets in ${said.join("; ")}, by default ${policy}, and not ${meant.join("; ")}`,
    );
}
