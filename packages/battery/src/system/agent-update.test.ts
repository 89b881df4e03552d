// The agent as an operator installs it, on a machine that really boots: systemd starts it, its updater and the version before.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { TEST_TOKEN } from "@kule/agent/testing/fake-control-plane";
import { Publisher } from "@kule/agent/testing/publisher";
import { buildAgentBinary } from "@kule/build/agent-binary/build-agent-binary";
import type { Schemas } from "@kule/contract/schemas";
import { requirePart } from "@kule/testing/parts";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "@kule/testing/real-guests/real-guests-part";
import { RealLab } from "@kule/testing/real-guests/real-lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Told } from "../agent-updates/control-plane-process.ts";

const guests = await requireRealGuests(import.meta.filename);
const binary = await requirePart(
  "an agent's binary",
  () =>
    process.arch === "x64" && process.platform === "linux" ? undefined : `the guests are not ${process.arch}`,
  import.meta.filename,
);
const VMID = 20_001;
/** Of a machine that is busy with other suites; a probation is a minute here. */
const LIMIT_MS = 300_000;
const process_ = new URL("../agent-updates/control-plane-process.ts", import.meta.url).pathname;

/** A build that is what it says it is, and ends as soon as it is the service. */
const BAD = `#!/bin/sh
case "$1" in
  --version) echo 1.2.0 ;;
  check-self) echo ok ;;
  *) echo "it cannot go on" >&2; exit 3 ;;
esac
`;

describe.skipIf(guests.missing || binary.missing)("an agent under systemd", { timeout: LIMIT_MS }, () => {
  let folder: string;
  let lab: RealLab;
  let child: ChildProcess;
  let url = "";
  const reports: Schemas["HealthReport"][] = [];
  const publisher = new Publisher();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kule-agent-update-"));
    writeFileSync(join(folder, "keys.json"), JSON.stringify(publisher.builtIn));
    const build = (version: string) =>
      buildAgentBinary({ architecture: "x64", folder, version, releaseKeys: join(folder, "keys.json") });
    const [first, second] = [await build("1.0.0"), await build("1.1.0")];
    writeFileSync(join(folder, "bad"), BAD);
    lab = await RealLab.start();
    await lab.create(VMID, { cores: 2, memory: 2048 });
    await lab.booted(VMID);
    // It is in the guest's network, so that nothing has to lead out of it.
    const [program = "", ...words] = [...(lab.lab.wires?.inMachine(VMID) ?? []), process.execPath, process_];
    child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"], cwd: "/" });
    createInterface({ input: child.stdout as NonNullable<ChildProcess["stdout"]> }).on("line", (line) => {
      const said = JSON.parse(line) as { url?: string; report?: Schemas["HealthReport"] };
      url = said.url ?? url;
      if (said.report) reports.push(said.report);
    });
    await until(() => url !== "", "the control plane starts");
    for (const [version, path] of [
      ["1.0.0", first.path],
      ["1.1.0", second.path],
      ["1.2.0", join(folder, "bad")],
    ] as const)
      tell({ release: { version, path, manifest: publisher.sign(version, readFileSync(path)) } });
    await libraries();
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    child?.stdin?.end();
    await lab?.end();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  const tell = (told: Told) => void child.stdin?.write(`${JSON.stringify(told)}\n`);
  const last = () => reports.at(-1);

  async function until(holds: () => boolean, what: string): Promise<void> {
    const end = performance.now() + LIMIT_MS - 20_000;
    while (!holds()) {
      if (performance.now() > end) throw new Error(`${what}: not in time\n${await troubles()}`);
      await delay(100);
    }
  }

  const troubles = async (): Promise<string> => {
    const shown =
      "systemctl status --no-pager -n 30 kule-agent kule-agent-update; cat /opt/kule-agent/update/state.json; kule-agent status";
    return lab === undefined ? "" : (await lab.shell(VMID, shown)).out;
  };

  /** A command that has to work; answers what it prints. */
  async function shell(line: string): Promise<string> {
    const { exitcode, out } = await lab.shell(VMID, line);
    if (exitcode !== 0) throw new Error(`${line}: ${out}`);
    return out;
  }

  /** What docs/runbooks/agent.md names, and the image does not have. */
  async function libraries(): Promise<void> {
    const library = readFileSync("/usr/lib/x86_64-linux-gnu/libatomic.so.1").toString("base64");
    const { status } = await lab.call(`POST /nodes/pve1/qemu/${VMID}/agent/file-write`, {
      file: "/root/libatomic",
      content: library,
    });
    expect(status).toBe(200);
    await shell(
      "test -e /usr/lib/x86_64-linux-gnu/libatomic.so.1 || base64 -d /root/libatomic > /usr/lib/x86_64-linux-gnu/libatomic.so.1",
    );
    await shell("ldconfig");
  }

  test("is installed by its binary, and says what it still needs", async () => {
    await shell(
      `curl -sf -o /root/kule-agent ${url}/agent/releases/1.0.0/files/x64 && chmod 755 /root/kule-agent`,
    );
    expect(await shell("/root/kule-agent install")).toContain(
      "The agent is not started: its settings are not complete",
    );
    await shell(`cat > /etc/kule/agent.env <<'END'
KULE_AGENT_TOKEN=${TEST_TOKEN}
KULE_PVE_TOKEN=kule@pve!agent=none
END
cat > /etc/kule/region.yaml <<'END'
region: lab1
control_plane: ${url}
hypervisor:
  kind: proxmox
  endpoints: [https://127.0.0.1:9]
  token_env: KULE_PVE_TOKEN
  tls: { fingerprints: ["${Array.from({ length: 32 }, () => "AB").join(":")}"] }
  vmid_range: 20000-29999
storage: { disks: ceph-vm }
network: { bridge: vmbr1, vlan_range: 100-999 }
templates:
  ubuntu-24.04: { vmid: 9000 }
agent: { health_seconds: 1 }
END
mkdir -p /etc/systemd/system/kule-agent-update.service.d /etc/systemd/system/kule-agent.service.d
printf '[Service]\\nEnvironment=KULE_TEST_BUILD=1 KULE_TEST_UPDATE_SPEED=3\\n' > /etc/systemd/system/kule-agent-update.service.d/test.conf
systemctl daemon-reload
kule-agent install`);
    await until(() => last()?.agent_version === "1.0.0", "it reports");
    expect(last()).toMatchObject({ architecture: "x64", can_update: true, update: null });
    expect(await shell("systemctl is-active kule-agent kule-agent-update.path kule-agent-update.timer")).toBe(
      "active\nactive\nactive",
    );
  });

  test("goes to a newer build, also when its updater is killed while it watches", async () => {
    tell({ updateTo: "1.1.0" });
    await until(() => last()?.update?.state === "swapped", "the new version runs");
    expect(last()?.agent_version).toBe("1.1.0");
    expect(await shell("readlink /opt/kule-agent/updater")).toBe("versions/1.0.0/kule-agent");
    await shell(
      "systemctl kill --signal=SIGKILL kule-agent-update; sleep 1; systemctl reset-failed kule-agent-update",
    );
    await shell("systemctl start --no-block kule-agent-update");
    await until(() => last()?.update?.state === "done", "it has proven itself");
    expect(last()?.update).toMatchObject({ version: "1.1.0", code: null });
    expect(
      await shell("readlink /opt/kule-agent/bin/kule-agent /opt/kule-agent/updater; kule-agent --version"),
    ).toBe("../versions/1.1.0/kule-agent\nversions/1.1.0/kule-agent\n1.1.0");
    // It was not started more than once.
    expect(await shell("systemctl show --property=NRestarts --value kule-agent")).toBe("0");
    expect(await shell("kule-agent status")).toMatch(/^update .*1\.1\.0 done/m);
  });

  test("comes back from a build that ends by itself, reports it, and does not try it again", async () => {
    const before = reports.length;
    tell({ updateTo: "1.2.0" });
    await until(() => last()?.update?.state === "rolled_back", "it comes back");
    expect(last()).toMatchObject({ agent_version: "1.1.0", update: { version: "1.2.0", code: "crashed" } });
    expect(await shell("readlink /opt/kule-agent/bin/kule-agent; systemctl is-active kule-agent")).toBe(
      "../versions/1.1.0/kule-agent\nactive",
    );
    expect(await shell("journalctl -u kule-agent -o cat")).toContain("it cannot go on");
    await until(() => reports.length > before + 10, "it works on");
    expect(last()?.update?.state).toBe("rolled_back");
  });

  test("is updated by hand, back too when the publisher has signed that, and not to what has failed", async () => {
    const check = await lab.shell(VMID, "kule-agent update --check");
    expect([check.exitcode, check.out]).toEqual([
      1,
      expect.stringMatching(/^verdict +known_bad: 1\.2\.0 did not/m),
    ]);
    const failed = await lab.shell(VMID, "kule-agent update --to 1.2.0");
    expect([failed.exitcode, failed.out]).toEqual([
      1,
      expect.stringMatching(/^1\.2\.0 did not work on this machine: .*\n {4}fix: /),
    ]);
    const refused = await lab.shell(VMID, "kule-agent update --to 1.0.0");
    expect([refused.exitcode, refused.out]).toEqual([
      1,
      expect.stringContaining("1.0.0: refused: 1.0.0 is older"),
    ]);
    const path = join(folder, "kule-agent-1.0.0-linux-x64");
    const manifest = publisher.sign("1.0.0", readFileSync(path), "x64", { rollback_to: true });
    tell({ release: { version: "1.0.0", path, manifest }, updateTo: null });
    expect(await shell("kule-agent update --to 1.0.0")).toMatch(/watching\n1\.0\.0: done$/);
    expect(last()?.agent_version).toBe("1.0.0");
    expect(await shell("kule-agent update --check")).toMatch(/^updates itself +yes.*\noffered +nothing$/m);
  });

  test("is uninstalled with its updater, and keeps its settings", async () => {
    await shell("kule-agent uninstall");
    expect(
      await shell(
        "ls /opt; ls /etc/systemd/system | grep '^kule-agent-\\?[a-z]*\\.\\(service\\|path\\|timer\\)$' || true",
      ),
    ).toBe("");
    expect(await shell("ls /etc/kule")).toBe("agent.env\nregion.yaml");
    expect((await lab.shell(VMID, "systemctl is-active kule-agent kule-agent-update.timer")).out).toBe(
      "inactive\ninactive",
    );
  });
});
