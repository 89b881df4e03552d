// Is a template fit to be cloned into servers?

import type { ProxmoxClient } from "./client.ts";
import { agentEnabled } from "./config-difference.ts";
import { bootDiskOf, disksOf } from "./disks.ts";
import { type Finding, failed, passed } from "./finding.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { renderSize } from "./sizes.ts";
import { normalConfig } from "./vm-observation.ts";

/** Looks for what every clone would suffer from. */
export async function checkTemplate(client: ProxmoxClient, slug: string, vmid: number): Promise<Finding[]> {
  const check = `template ${slug} (${vmid})`;
  const rows = await client.call("GET /cluster/resources", { type: "vm" });
  const node = rows.find((row) => readNumber(row.vmid) === vmid)?.node;
  if (!node)
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
  if (!agentEnabled(config.agent))
    complain("guest agent not enabled", `qm set ${vmid} --agent enabled=1`, "advised");
  for (const key of ["args", "hookscript", "startup"])
    if (config[key] !== undefined)
      complain(`carries ${key}`, `An API token cannot take it off a clone: qm set ${vmid} --delete ${key}`);
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
