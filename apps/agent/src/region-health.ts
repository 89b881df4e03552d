import type { Schemas } from "@kule/contract/schemas";
import type { ProxmoxClient } from "@kule/proxmox/client";
import { readBoolean, readNumber } from "@kule/proxmox/lenient";

export type RegionHealth = Pick<Schemas["HealthReport"], "hypervisor" | "templates" | "edge">;

const CALL_MILLISECONDS = 8_000;
const MESSAGE_CHARACTERS = 1_000;

/**
 * The part of a health report about the region: three cheap calls, never an error. Of the templates only is
 * checked here that they are templates; `check` inspects them.
 */
export async function regionHealth(
  client: ProxmoxClient,
  templateVmids: Readonly<Record<string, readonly number[]>>,
): Promise<RegionHealth> {
  const options = { deadlineMilliseconds: CALL_MILLISECONDS };
  try {
    const { version } = await client.call("GET /version", {}, options);
    const [nodes, guests] = await Promise.all([
      client.call("GET /nodes", {}, options),
      client.call("GET /cluster/resources", { type: "vm" }, options),
    ]);
    const templates = new Set(
      guests.filter((guest) => readBoolean(guest.template)).map((guest) => readNumber(guest.vmid)),
    );
    return {
      hypervisor: {
        kind: "proxmox",
        reachable: true,
        version,
        nodes: nodes.map(({ node, status }) => ({ name: node, online: status === "online" })),
      },
      templates: Object.entries(templateVmids).map(([image, vmids]) => {
        const missing = vmids.filter((vmid) => !templates.has(vmid));
        return missing.length === 0
          ? { image, ok: true }
          : {
              image,
              ok: false,
              message: `no template ${missing.join(", ")}, or hidden from the agent's token`,
            };
      }),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      hypervisor: { kind: "proxmox", reachable: false, message: message.slice(0, MESSAGE_CHARACTERS) },
    };
  }
}
