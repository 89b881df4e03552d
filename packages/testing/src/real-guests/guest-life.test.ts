// Guests that really boot, by the calls of Proxmox VE's API that a driver makes.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "./real-guests-part.ts";
import { BOOT_MS, RealLab, vm } from "./real-lab.ts";

const part = await requireRealGuests(import.meta.filename);
const account = { ciuser: "kule", cipassword: "correct-horse" };

describe.skipIf(part.missing)("A real guest", { timeout: 3 * BOOT_MS }, () => {
  let lab: RealLab;
  const one = 20001;

  beforeAll(async () => {
    lab = await RealLab.start();
    await lab.create(one, {
      ...account,
      cores: 1,
      net0: "virtio,bridge=vmbr1,tag=301",
      ipconfig0: "ip=10.0.1.5/24,gw=10.0.1.1",
    });
    await lab.booted(one);
  }, IMAGE_TIMEOUT_MS);
  afterAll(() => lab?.end());

  test("has run cloud-init with the drive that the VM has, and all of its units work", async () => {
    expect(
      await lab.shell(one, "systemctl is-system-running --wait; systemctl --failed --no-legend"),
    ).toEqual({
      exitcode: 0,
      out: "running",
    });
    expect((await lab.shell(one, "hostname; id -un kule; ip -4 -o address show eth0; ip route")).out).toMatch(
      /^web-20001\nkule\n.* 10\.0\.1\.5\/24 [\s\S]*default via 10\.0\.1\.1/,
    );
    const drive = lab.lab.control.vm(one)?.drive;
    expect((await lab.shell(one, "cat /var/lib/cloud/seed/nocloud/user-data")).out).toBe(drive?.user.trim());
  });

  test("sees the memory, the processors and the disk that were sold", async () => {
    expect(
      (await lab.shell(one, "free -m | awk '/Mem:/ {print $2}'; nproc; df -BM --output=size / | tail -1"))
        .out,
    ).toMatch(/^1024\n1\n +2\d{3}M$/);
  });

  test("has an agent whose calls have Proxmox VE's limits", async () => {
    const content = "x".repeat(61_440);
    const path = "/root/file";
    expect((await lab.call(`POST ${vm(one)}/agent/file-write`, { file: path, content })).status).toBe(200);
    const read = await lab.call(`GET ${vm(one)}/agent/file-read?file=${encodeURIComponent(path)}`);
    expect(read.data).toEqual({ content, "bytes-read": content.length });
    const tooLong = await lab.call(`POST ${vm(one)}/agent/file-write`, {
      file: path,
      content: `${content}x`,
    });
    expect(tooLong).toMatchObject({ status: 400, errors: { content: expect.stringContaining("61440") } });
    const input = "y".repeat(65_537);
    const exec = await lab.call(`POST ${vm(one)}/agent/exec`, { command: "cat", "input-data": input });
    expect(exec).toMatchObject({ status: 400, errors: { "input-data": expect.stringContaining("65536") } });
    expect((await lab.call(`GET ${vm(one)}/agent/get-osinfo`)).data.result).toMatchObject({ id: "debian" });
    const { result } = (await lab.call(`GET ${vm(one)}/agent/network-get-interfaces`)).data;
    expect(result.map(({ name }: { name: string }) => name)).toEqual(["lo", "eth0"]);
    const missing = await lab.call(`POST ${vm(one)}/agent/exec`, { command: "/no/such/program" });
    expect(missing.reason).toMatch(/Agent error: .*(Failed to execute|No such file)/);
  });

  test("lets its account in at the serial line, with the password that the agent set last", async () => {
    const answer = await lab.call(`POST ${vm(one)}/agent/set-user-password`, {
      username: "kule",
      password: "battery-staple",
    });
    expect(answer.status).toBe(200);
    const line = await lab.serialLine(one);
    await line.line("", /login: $/);
    await line.line("kule", /Password: $/);
    await line.line("correct-horse", /Login incorrect[\s\S]*login: $/);
    await line.line("kule", /Password: $/);
    await line.line("battery-staple", /\$ $/);
    expect(await line.line("echo $((6 * 7)) $(id -un)", /\n.*\$ $/)).toContain("42 kule");
    await line.line("exit", /login: $/);
    line.close();
  });

  test("restarts itself, keeps its disk, and stays at the same serial line", async () => {
    const line = await lab.serialLine(one);
    await lab.shell(one, "echo kept > /root/kept; sync");
    const before = lab.lab.control.vm(one)?.process;
    await lab.shell(one, "systemd-run sh -c 'sleep 0.5; systemctl reboot'");
    await lab.until(one, (_, bootedAt) => bootedAt !== before?.guestBootAt);
    await line.until(/login: /);
    line.close();
    expect(lab.lab.control.vm(one)?.process?.pid).toBe(before?.pid);
    await lab.booted(one);
    expect((await lab.shell(one, "cat /root/kept")).out).toBe("kept");
  });

  test("is reset at once, and reboots through the API as another process", async () => {
    const before = lab.lab.control.vm(one)?.process;
    await lab.change(`POST ${vm(one)}/status/reset`);
    await lab.booted(one);
    expect(lab.lab.control.vm(one)?.process?.pid).toBe(before?.pid);
    await lab.change(`POST ${vm(one)}/status/reboot`);
    await lab.until(one, (running) => running && lab.lab.control.vm(one)?.process?.pid !== before?.pid);
    await lab.booted(one);
    expect((await lab.shell(one, "cat /root/kept")).out).toBe("kept");
  });

  test("freezes while it is paused", async () => {
    await lab.change(`POST ${vm(one)}/status/suspend`);
    expect((await lab.call(`POST ${vm(one)}/agent/ping`, {})).reason).toBe("QEMU guest agent is not running");
    await lab.change(`POST ${vm(one)}/status/resume`);
    expect((await lab.shell(one, "echo on")).out).toBe("on");
  });

  test("powers off by itself, by a shutdown, and by a stop", async () => {
    await lab.shell(one, "systemd-run sh -c 'sleep 0.5; systemctl poweroff'");
    await lab.until(one, (running) => !running);
    await lab.change(`POST ${vm(one)}/status/start`);
    await lab.booted(one);
    await lab.change(`POST ${vm(one)}/status/shutdown`, { timeout: 60 });
    expect(lab.lab.journal().findLast(({ op }) => op === "vm-stopped")?.detail).toEqual({ how: "shutdown" });
    await lab.change(`POST ${vm(one)}/status/start`);
    await lab.change(`POST ${vm(one)}/status/stop`);
    expect(lab.lab.control.vm(one)?.process).toBeNull();
  });

  test("has more memory and a larger disk after both were changed, and its files", async () => {
    await lab.change(`POST ${vm(one)}/config`, { memory: 2048, cores: 2 });
    await lab.change(`PUT ${vm(one)}/resize`, { disk: "scsi0", size: "8G" });
    await lab.change(`POST ${vm(one)}/status/start`);
    await lab.booted(one);
    expect(
      (await lab.shell(one, "free -m | awk '/Mem:/ {print $2}'; df -BM --output=size / | tail -1")).out,
    ).toMatch(/^2048\n +7\d{3}M$/);
    expect((await lab.shell(one, "cat /root/kept")).out).toBe("kept");
  });

  test("cannot use more memory or disk than it has", async () => {
    await lab.shell(one, `systemd-run --unit=hog tail /dev/zero`);
    const result = () =>
      lab.shell(one, "systemctl show --property=Result --value hog").then(
        ({ out }) => out,
        // A guest without memory has an agent that does not answer in time.
        () => "",
      );
    await expect.poll(result, { timeout: 60_000, interval: 500 }).toMatch(/^(oom-kill|signal)$/);
    expect((await lab.shell(one, "fallocate -l 9G /root/big")).out).toMatch(/No space left/);
    await lab.shell(one, "rm -f /root/big");
  });

  test("is gone with its VM: another one of the same number has an empty disk", async () => {
    await lab.change(`POST ${vm(one)}/status/stop`);
    await lab.change(`DELETE ${vm(one)}?purge=1&destroy-unreferenced-disks=1`);
    await lab.create(one, account);
    await lab.booted(one);
    expect((await lab.shell(one, "cat /root/kept")).out).toContain("No such file");
  });
});
