import { ProxmoxClient } from "@kule/proxmox/client";
import { runInGuest } from "@kule/proxmox/guest-agent";
import { systemRuntime } from "@kule/proxmox/runtime";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "@kule/testing/real-guests/real-guests-part";
import { BOOT_MS, RealLab, vm } from "@kule/testing/real-guests/real-lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failed } from "../errors.ts";
import { readStatus } from "../load-balancers/status/read-status.ts";
import { bring, isBrought } from "../testing/killed-guest-state.ts";
import { owner } from "../testing/state-guest.ts";
import { type GuestState, renderBundle } from "./bundle.ts";
import type { GuestOf } from "./guest-state.ts";

const part = await requireRealGuests(import.meta.filename, "kule-lb");
const VMID = 20_001;
const ours = new Map([["lsn_1", new Set(["tgt_1"])]]);
const configuration = (generation: number, port: number) => `global
    default-path config
    setenv KULE_GENERATION ${generation}
    maxconn 10000
    stats socket /run/kule-lb/admin.sock mode 600 level admin
    server-state-file /run/kule-lb/server-state
    hard-stop-after 10m
    user haproxy
    group haproxy
defaults
    mode http
    load-server-state-from-file global
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend lsn_1
    bind 0.0.0.0:${port}
    default_backend lsn_1
backend lsn_1
    server tgt_1 127.0.0.1:9000 weight 1 check port 9000 inter 1s rise 2 fall 2
`;
/** As the rules render it, with a peer that never answers. */
const keepalived = `vrrp_track_process haproxy {
    process haproxy
}
vrrp_instance lb {
    state BACKUP
    nopreempt
    interface eth0
    virtual_router_id 7
    priority 100
    advert_int 1
    unicast_src_ip 203.0.113.20
    unicast_peer {
        203.0.113.21
    }
    virtual_ipaddress {
        203.0.113.30/24 dev eth0
    }
    track_process {
        haproxy
    }
}
`;

function bundleOf(generation: number, { port = 8080, ha = false } = {}) {
  const file = (path: string, content: string) => ({ path, mode: 0o600, content });
  const unit = (name: string) => ({ name, change: "reload" as const });
  const state: GuestState = {
    generation,
    files: [
      file("haproxy/haproxy.cfg", configuration(generation, port)),
      file("haproxy/servers", "lsn_1 tgt_1\n"),
      ...(ha ? [file("keepalived/keepalived.conf", keepalived)] : []),
    ],
    validate: ["haproxy", "-c", "-q", "-f", "haproxy/haproxy.cfg"],
    units: [unit("haproxy.service"), ...(ha ? [unit("keepalived.service")] : [])],
    check: ["/usr/local/sbin/kule-lb", "check", String(generation)],
  };
  return renderBundle(state);
}

describe.skipIf(part.missing)("The real appliance of a load balancer", { timeout: 3 * BOOT_MS }, () => {
  let lab: RealLab;
  let client: ProxmoxClient;
  let guest: GuestOf;

  beforeAll(async () => {
    lab = await RealLab.start("kule-lb");
    client = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.operatorTokenId,
      tokenSecret: lab.lab.operatorTokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    guest = {
      vmid: VMID,
      owner,
      hypervisor: {
        runInGuest: (vmid, _owner, command) =>
          runInGuest(client, systemRuntime, { node: "pve1", vmid }, command, {}),
      },
    };
    await lab.create(VMID, {
      net0: "virtio=BC:24:11:00:00:20,bridge=vmbr0",
      ipconfig0: "ip=203.0.113.20/24,gw=203.0.113.1",
    });
    await lab.booted(VMID);
    await startTarget();
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    client?.close();
    await lab?.end();
  });

  /** The output of a command line that must succeed. */
  async function said(line: string): Promise<string> {
    const { exitcode, out } = await lab.shell(VMID, line);
    expect(exitcode, `${line}: ${out}`).toBe(0);
    return out;
  }
  const startTarget = () =>
    said(
      `systemd-run --quiet --unit=target socat TCP-LISTEN:9000,fork,reuseaddr SYSTEM:'printf "HTTP/1.1 200 OK\\\\r\\\\nContent-Length\\\\: 2\\\\r\\\\nConnection\\\\: close\\\\r\\\\n\\\\r\\\\nok"'`,
    );
  const serves = () =>
    expect
      .poll(() => lab.shell(VMID, "curl -s http://127.0.0.1:8080/").then(({ out }) => out), {
        timeout: 60_000,
      })
      .toBe("ok");
  async function status() {
    const text = await said("kule-lb status");
    const seen = readStatus(text, ours);
    if (seen === null) throw new Error(`no status: ${text}`);
    return seen;
  }

  test("runs nothing before it has a state, and then haproxy with its limits", async () => {
    expect(await said("systemctl is-enabled haproxy keepalived; systemctl is-active haproxy; true")).toBe(
      "disabled\ndisabled\ninactive",
    );
    expect(await said("sysctl -n net.ipv4.ip_nonlocal_bind net.ipv4.ip_local_port_range")).toMatch(
      /^1\n15000\s+65535$/,
    );
    const bundle = bundleOf(1);
    await bring(guest, bundle);
    await serves();
    expect(await isBrought(guest, bundle)).toBe(true);
    expect(await said("systemctl is-enabled haproxy; systemctl is-active haproxy")).toBe("enabled\nactive");
    expect(await said("grep 'Max open files' /proc/$(cat /run/kule-lb/haproxy.pid)/limits")).toContain(
      "1048576",
    );
    expect(await said("stat -c %a /run/kule-lb /run/kule-lb/*.sock")).toBe("700\n600\n600");
    expect(await status()).toMatchObject({ generation: 1, role: null, targets: [{ status: "UP" }] });
  });

  test("takes one state after the other", async () => {
    for (const generation of [2, 3, 4]) {
      await bring(guest, bundleOf(generation));
      expect(await said("curl -s http://127.0.0.1:8080/")).toBe("ok");
    }
    expect(await status()).toMatchObject({ generation: 4, failedReloads: 0 });
  });

  test("refuses a state that haproxy cannot load, and goes on with the one before", async () => {
    // The target's own port.
    const refused = await bring(guest, bundleOf(5, { port: 9000 })).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    await serves();
    expect(await isBrought(guest, bundleOf(4))).toBe(true);
  });

  test("serves again after its worker was killed, and after a reset of the machine", async () => {
    const before = await status();
    await said(`kill -9 ${before.workerPid}`);
    await serves();
    expect((await status()).workerPid).not.toBe(before.workerPid);
    await lab.change(`POST ${vm(VMID)}/status/reset`);
    await lab.booted(VMID);
    await startTarget();
    await serves();
    const after = await status();
    expect(after).toMatchObject({ generation: 4, former: [] });
    expect(after.bootId).not.toBe(before.bootId);
  });

  test("has the virtual address when no other machine has it, and its state fails without keepalived", async () => {
    const bundle = bundleOf(6, { ha: true });
    await bring(guest, bundle);
    await expect.poll(() => status().then(({ role }) => role), { timeout: 60_000 }).toBe("master");
    expect(await said("ip -o address show to 203.0.113.30")).toContain("203.0.113.30/24");
    await said("systemctl stop keepalived");
    expect(await isBrought(guest, bundle)).toBe(false);
    expect((await status()).role).toBeNull();
    await bring(guest, bundle);
    expect(await isBrought(guest, bundle)).toBe(true);
  });
});
