// Root of a guest tries the known ways to the machine, to its network and to another guest.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "./real-guests-part.ts";
import { BOOT_MS, RealLab } from "./real-lab.ts";

const part = await requireRealGuests(import.meta.filename);

describe.skipIf(part.missing)("Root in a guest", { timeout: BOOT_MS }, () => {
  let lab: RealLab;
  const [one, other] = [20011, 20012];
  let secret = "";

  beforeAll(async () => {
    lab = await RealLab.start();
    await Promise.all(
      [one, other].map((vmid, index) =>
        lab.create(vmid, {
          net0: `virtio,bridge=vmbr1,tag=${311 + index}`,
          ipconfig0: "ip=10.0.1.5/24,gw=10.0.1.1",
        }),
      ),
    );
    await Promise.all([lab.booted(one), lab.booted(other)]);
    secret = join(lab.folder, "secret-of-the-machine");
    writeFileSync(secret, "only the machine's");
  }, IMAGE_TIMEOUT_MS);
  afterAll(() => lab?.end());

  const attack = async (line: string) => await lab.shell(one, line);

  test("is another account on the machine, with no right there", async () => {
    const pid = (await attack("id -u; cat /proc/self/uid_map")).out.split(/\s+/);
    expect(pid.slice(0, 2)).toEqual(["0", "0"]);
    expect(Number(pid[2])).toBeGreaterThan(65_535);
    const { out } = await attack("grep CapBnd /proc/1/status");
    const held = BigInt(`0x${out.split(/\s+/)[1]}`);
    // sys_module, sys_rawio, sys_time, mknod, mac_override, mac_admin, syslog, wake_alarm
    for (const bit of [16, 17, 25, 27, 32, 33, 34, 35])
      expect([bit, (held >> BigInt(bit)) & 1n]).toEqual([bit, 0n]);
  });

  test.each([
    ["makes a node of the machine's disk", "mknod /root/disk b 254 0"],
    ["makes a node of its memory", "mknod /root/mem c 1 1"],
    ["mounts the machine's devices", "mount -t devtmpfs none /mnt"],
    ["mounts a disk", "mount -t ext4 /dev/vda /mnt"],
    ["opens a loop device", "mknod /dev/loop0 b 7 0; losetup /dev/loop0 /etc/hostname"],
    ["sets the clock", "date -s 2020-01-01"],
    ["loads a module", "modprobe dummy || insmod /root/x.ko"],
    ["chooses the program for core dumps", "echo '|/root/x' > /proc/sys/kernel/core_pattern"],
    ["chooses the program for modules", "echo /root/x > /proc/sys/kernel/modprobe"],
    ["presses a magic key", "echo b > /proc/sysrq-trigger"],
    ["chooses the program for devices", "echo /root/x > /sys/kernel/uevent_helper"],
    ["writes to /sys", "mount -o remount,rw /sys; echo 0 > /sys/kernel/mm/transparent_hugepage/enabled"],
    ["changes the machine's settings", "umount -l /proc/sys; echo 1 > /proc/sys/vm/drop_caches"],
    ["reads the kernel's messages", "dmesg"],
    ["reads the kernel's memory", "head -c 1 /proc/kcore | grep -q ."],
    ["raises its own limit of memory", "echo max > /sys/fs/cgroup/memory.max || exit 1"],
    ["sees processes of the machine", "ls -d /proc/1/root/work /proc/[0-9]*/root/work"],
    ["renames the machine's mounts", "nsenter --target 1 --mount ls -d /work"],
  ])("is refused when it %s", async (_, line) => {
    expect((await attack(line)).exitcode).not.toBe(0);
  });

  test("sets no program for the end of a control group, in any hierarchy", async () => {
    const { out } = await attack(
      "mkdir -p /tmp/cg; for each in memory pids cpu devices; do mount -t cgroup -o $each cgroup /tmp/cg 2>/dev/null && { echo /root/x > /tmp/cg/release_agent && echo escaped; echo -1 > /tmp/cg/memory.limit_in_bytes && echo unlimited; umount /tmp/cg; }; done 2>/dev/null; true",
    );
    expect(out).not.toMatch(/escaped|unlimited/);
  });

  test("leaves no root folder: what is above it is its own", async () => {
    // The known way out of a chroot: another one, with a folder that stays open outside of it.
    const { out } = await attack(
      `mkdir -p /root/jail; perl -e 'opendir(D, "/"); chroot("/root/jail"); chdir(fileno(D)) or chdir(*D); for (1..64) { chdir("..") } chroot("."); print((-e "${secret}") ? "outside" : "inside", " ", (-e "/etc/machine-id") ? "own" : "none")'`,
    );
    expect(out).toBe("inside own");
    expect((await attack(`cat ${secret} /proc/1/root${secret} /proc/1/cwd${secret}`)).out).not.toContain(
      "only the",
    );
  });

  test("reaches neither the machine's network nor the other guest's", async () => {
    const server = createServer((socket) => socket.end("machine"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { out } = await attack(
      `curl -s -m 2 http://127.0.0.1:${port}/ ; ip -o link | wc -l; ls /run/netns 2>/dev/null; curl -s -m 2 http://169.254.169.254/; true`,
    );
    server.close();
    // Its loopback and its own device.
    expect(out).toBe("2");
    await lab.shell(other, "systemd-run sleep 600");
    expect((await attack("ss -xl | grep -c guest-agent-channel")).out).toBe("1");
    expect((await attack("ps ax | grep -c '[s]leep 600'")).out).toBe("0");
  });

  test("puts nothing between the lab and its agent: the channel is the socket itself", async () => {
    const outside = join(lab.folder, "machine.sock");
    let asked = 0;
    const server = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(outside, resolve));
    await attack(
      `systemd-run sh -c 'sleep 0.5; systemctl stop qemu-guest-agent; rm -f /run/guest-agent-channel/socket; ln -s ${outside} /run/guest-agent-channel/socket; sleep 3; rm -f /run/guest-agent-channel/socket; systemctl start qemu-guest-agent'`,
    );
    const answers = [];
    for (const until = performance.now() + 3_000; performance.now() < until; )
      answers.push((await lab.call(`POST /nodes/pve1/qemu/${one}/agent/ping`, {})).status);
    expect(answers).toContain(500);
    expect(asked).toBe(0);
    server.close();
    await lab.booted(one);
  });

  test("cannot make its agent stop file systems or set the clock", async () => {
    const { result } = (await lab.call(`GET /nodes/pve1/qemu/${one}/agent/info`)).data;
    const enabled = new Map(
      result.supported_commands.map((each: { name: string; enabled: boolean }) => [each.name, each.enabled]),
    );
    expect(enabled.get("guest-exec")).toBe(true);
    for (const name of ["fsfreeze-freeze", "fstrim", "set-time", "suspend-ram", "suspend-disk", "set-vcpus"])
      expect([name, enabled.get(`guest-${name}`)]).toEqual([name, false]);
  });

  test("fills its own disk and memory, and the machine goes on", async () => {
    const before = readFileSync("/proc/sys/kernel/core_pattern", "utf8");
    expect((await attack("fallocate -l 50G /root/big")).out).toContain("No space left");
    await attack(`systemd-run perl -e '$x = "x" x (3 << 30); sleep 60'`);
    await delay(3_000);
    await lab.booted(one);
    await attack("rm -f /root/big");
    expect(readFileSync("/proc/sys/kernel/core_pattern", "utf8")).toBe(before);
    expect(existsSync(secret)).toBe(true);
    await lab.booted(other);
  });
});
