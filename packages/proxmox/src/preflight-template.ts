// Is a template fit to be cloned into servers?

import type { ProxmoxClient } from "./client.ts";
import { clusterGuests } from "./cluster-guests.ts";
import { agentEnabled } from "./config-difference.ts";
import { bootDiskOf, disksOf } from "./disks.ts";
import { bridgePath, grantCommands } from "./driver-calls/grants.ts";
import { type Finding, failed, passed } from "./finding.ts";
import { readBoolean } from "./lenient.ts";
import { privilegesHeld } from "./preflight-privileges.ts";
import { parseNetDevice, parsePropertyString } from "./property-string.ts";
import { renderSize } from "./sizes.ts";
import { normalConfig } from "./vm-observation.ts";

/** Checks for defects that every clone would inherit. */
export async function checkTemplate(client: ProxmoxClient, slug: string, vmid: number): Promise<Finding[]> {
  const check = `template ${slug} (${vmid})`;
  const node = (await clusterGuests(client)).find((guest) => guest.vmid === vmid)?.node;
  if (node === undefined)
    return [
      failed(
        check,
        "not there, or hidden from the token",
        `Make the template with VMID ${vmid}, or correct the region file.`,
      ),
    ];
  const config = normalConfig(await client.call("GET /nodes/{node}/qemu/{vmid}/config", { node, vmid }));
  const findings: Finding[] = [];
  const complain = (found: string, fix: string, severity: Finding["severity"] = "required") =>
    findings.push(failed(check, found, fix, severity));
  if (!readBoolean(config.template)) complain("a VM, not a template", `qm template ${vmid}`);
  const disk = bootDiskOf(config);
  if (!disk) complain("no boot disk", `qm set ${vmid} --boot order=scsi0`);
  if (!disksOf(config).some((each) => each.cloudInit))
    complain("no cloud-init drive", `qm set ${vmid} --ide2 <storage>:cloudinit`);
  if (!agentEnabled(config.agent)) {
    const enable = `qm set ${vmid} --agent enabled=1`;
    // A clone has it enabled; a template without it was probably made without the agent itself.
    if (isWindows(config))
      complain(
        "guest agent not enabled; without one inside, no Windows server made from it gets its password",
        `Install the QEMU guest agent in the template (docs/products/regions.md), then: ${enable}`,
        "advised",
      );
    else complain("guest agent not enabled", enable, "advised");
  }
  for (const key of ["args", "hookscript", "startup"])
    if (config[key] !== undefined)
      complain(`carries ${key}`, `An API token cannot take it off a clone: qm set ${vmid} --delete ${key}`);
  for (const key of hostDevices(config))
    complain(
      `carries ${key}, a device of the host`,
      `Only root@pam may clone it: qm set ${vmid} --delete ${key}`,
    );
  for (const bridge of await forbiddenBridges(client, config)) {
    const grant = { path: bridgePath(bridge), role: "CloudNet", propagate: true } as const;
    complain(
      `has an interface on ${bridge}, which the token may not use, so no clone can be made`,
      `Take the interface off the template (qm set ${vmid} --delete net0), or grant the bridge: ${grantCommands(grant, client.tokenId)}`,
    );
  }
  if (readBoolean(config.protection))
    complain("protected, and so is every clone", `qm set ${vmid} --delete protection`, "advised");
  if (findings.length === 0)
    findings.push(
      passed(
        check,
        `on ${node}, disk ${disk?.key} ${disk?.bytes ? renderSize(disk.bytes) : "of unknown size"}`,
      ),
    );
  return findings;
}

/** By the same test as Proxmox VE when it chooses the format of the cloud-init drive. */
const isWindows = ({ ostype = "" }: Readonly<Record<string, string>>) => /^(w2k|wxp|wvista|win)/.test(ostype);

/** Settings that only root may have in a config: a clone inherits them, and is refused. */
function hostDevices(config: Readonly<Record<string, string>>): string[] {
  return Object.keys(config).filter((key) => {
    if (!/^(usb|hostpci)\d+$/.test(key)) return false;
    const host = parsePropertyString(config[key] ?? "", "host").get("host");
    return host !== undefined && host.toLowerCase() !== "spice";
  });
}

/** Bridges of its interfaces that the token may not use, on which every clone would be refused. */
async function forbiddenBridges(
  client: ProxmoxClient,
  config: Readonly<Record<string, string>>,
): Promise<string[]> {
  const found = new Set<string>();
  for (const key of Object.keys(config).filter((each) => /^net\d+$/.test(each))) {
    const { bridge, vlan } = parseNetDevice(config[key] ?? "");
    if (bridge === null) continue;
    const path = vlan === null ? bridgePath(bridge) : `${bridgePath(bridge)}/${vlan}`;
    if (!("SDN.Use" in (await privilegesHeld(client, path)))) found.add(bridge);
  }
  return [...found];
}
