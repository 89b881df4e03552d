import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Lab, startLab } from "@kule/lab/lab";
import { ProxmoxClient } from "@kule/proxmox/client";
import { renderMarker } from "@kule/proxmox/marker";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MachineToAsk } from "./load-balancer-loop.ts";
import { machineAsker } from "./load-balancer-machines.ts";

let lab: Lab;
let client: ProxmoxClient;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-machines-"));
  lab = await startLab({ dataDir: folder });
  client = clientOf(lab.tokenSecret);
  place(machine.vmid, machine.server_id, "10.30.0.2");
});
afterEach(async () => {
  client.close();
  await lab.stop();
  rmSync(folder, { recursive: true, force: true });
});

const machine: MachineToAsk = {
  load_balancer_id: "lb_1",
  slot: 1,
  server_id: "srv_1",
  vmid: 20_001,
  listener_ids: ["lsn_1"],
  servers: ["tgt_1", "tgt_2"],
};

const clientOf = (tokenSecret: string) =>
  new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
  });
const ask = (asked: MachineToAsk = machine, by = client) =>
  machineAsker(new ProxmoxHypervisor(by), "lab1")(asked, new AbortController().signal);

/** A running appliance, or server, of this owner. */
function place(vmid: number, serverId: string, address: string, system = "kule-lb"): void {
  const marker = { serverId, organisationId: "org_1", region: "lab1", jobId: "job_1" };
  lab.control.restoreVm(vmid, system, {
    agent: "enabled=1",
    description: renderMarker(marker),
    net0: `virtio=BC:24:11:00:01:${String(vmid % 100).padStart(2, "0")},bridge=vmbr1,tag=140`,
    ipconfig0: `ip=${address}/24`,
    ide2: `ceph-vm:vm-${vmid}-cloudinit,media=cdrom`,
  });
  lab.control.setPower(vmid, true);
}

/** One file in a bundle, as kule-state takes it. */
function bundleOf(path: string, content: string): { readonly sha256: string; readonly text: string } {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write(`${Buffer.byteLength(content).toString(8).padStart(11, "0")} `, 124);
  header.write("ustar", 257);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  const tar = Buffer.concat([header, body, Buffer.alloc(1_024)]);
  return { sha256: createHash("sha256").update(tar).digest("hex"), text: gzipSync(tar).toString("base64") };
}

async function give(configuration: readonly string[]): Promise<void> {
  const { sha256, text } = bundleOf("files/haproxy/haproxy.cfg", `${configuration.join("\n")}\n`);
  for (const [args, input] of [
    [["receive", "7", sha256, "0"], text],
    [["apply", "7", sha256], ""],
  ] as const) {
    const end = await new ProxmoxHypervisor(client).lookInGuest(
      machine.vmid,
      { serverId: machine.server_id, region: "lab1" },
      { argv: ["/usr/local/sbin/kule-state", ...args], input },
    );
    expect(end).toMatchObject({ exitCode: 0 });
  }
}

describe("A machine of a load balancer", { timeout: 60_000 }, () => {
  it("says which generation it serves and which targets are up, and nothing about others' names", async () => {
    place(20_002, "srv_2", "10.30.0.11", "debian-12");
    await give([
      "global",
      "    setenv KULE_GENERATION 7",
      "frontend lsn_1",
      "    mode http",
      "frontend lsn_other",
      "    mode http",
      "backend lsn_1",
      "    server tgt_1 10.30.0.11:80 weight 1",
      "    server tgt_2 10.30.0.12:80 weight 1",
      "    server tgt_other 10.30.0.11:80 weight 1",
    ]);
    expect(await ask()).toMatchObject({
      generation: 7,
      listeners: [{ id: "lsn_1", is_open: true }],
      checks: [
        { status: "DOWN", check_status: "L4CON", servers: ["tgt_2"] },
        { status: "UP", check_status: "L4OK", servers: ["tgt_1"] },
      ],
    });
  });

  it("is asked while a backup has locked it", async () => {
    lab.control.editConfig(machine.vmid, { lock: "backup" });
    expect(await ask()).toMatchObject({ generation: null, listeners: [] });
  });

  it("is silent when it does not run, does not answer, is gone or is somebody else's", async () => {
    lab.faults.tasks.agentless.add(machine.vmid);
    expect(await ask()).toBe("silent");
    lab.faults.tasks.clear();
    lab.control.setPower(machine.vmid, false);
    expect(await ask()).toBe("silent");
    expect(await ask({ ...machine, vmid: 20_009 })).toBe("silent");
    expect(await ask({ ...machine, server_id: "srv_2" })).toBe("silent");
    place(20_003, "srv_3", "10.30.0.13", "debian-12");
    expect(await ask({ ...machine, vmid: 20_003, server_id: "srv_3" })).toBe("silent");
  });

  it("is silent when its node is down", async () => {
    lab.control.migrateVm(machine.vmid, "pve2");
    lab.control.nodeDown("pve2");
    expect(await ask()).toBe("silent");
  });

  it("counts as not asked when the token may not, or nobody answers for the cluster", async () => {
    const stranger = clientOf("00000000-0000-0000-0000-000000000000");
    try {
      expect(await ask(machine, stranger)).toBe("not asked");
    } finally {
      stranger.close();
    }
    await lab.stop();
    expect(await ask()).toBe("not asked");
    lab = await startLab({ dataDir: folder });
  });
});
