import type { Edge } from "@kule/programs/edge";
import { type Finding, failed, passed } from "@kule/proxmox/finding";
import type { RegionFile } from "@kule/region-config/region-file";
import { regionEdge } from "./region.ts";
import { type AgentRuntime, withinTime } from "./runtime.ts";

const LOOK_MILLISECONDS = 20_000;

/** Whether the edge answers, has what it needs, and is connected as the region file says; nothing is changed there. */
export async function checkEdge(
  file: Pick<RegionFile, "edge">,
  runtime: AgentRuntime,
  open: (file: Pick<RegionFile, "edge">) => { readonly edge: Edge; end(): void } | null = regionEdge,
): Promise<Finding[]> {
  if (file.edge === null) return [];
  const { uplink, trunk, transport } = file.edge;
  const bad = (found: string, fix: string) => failed("edge", found, fix);
  let router: ReturnType<typeof open> = null;
  try {
    router = open(file);
    if (router === null) return [];
    const { edge } = router;
    // A network that does not exist: observing it takes what every network takes.
    const nobody = { networkId: "net_check", generation: 1, subnets: [], gateway: null };
    const { machine } = await withinTime(runtime, LOOK_MILLISECONDS, null, (signal) =>
      edge.observe(nobody, signal),
    );
    const needed = trunk.mode === "vlan" ? [uplink.interface, trunk.interface] : [uplink.interface];
    const missing = needed.filter((name) => !machine.interfaces.some(({ ifname }) => ifname === name));
    if (missing.length > 0)
      return [
        bad(
          `has no interface ${missing.join(", ")}`,
          "Name the interfaces as `ip link` on the edge does: edge.uplink.interface, edge.trunk.interface.",
        ),
      ];
    const networks = (await edge.networks()).length;
    return [passed("edge", `answers over ${transport}; it holds ${networks} networks`)];
  } catch (error) {
    return [
      bad(
        error instanceof Error ? error.message : String(error),
        "The edge needs ip, nft, sysctl and unshare, and a user who may use them: root, or sudo without a password. Over SSH also edge.host, edge.host_key and the key must be right.",
      ),
    ];
  } finally {
    router?.end();
  }
}
