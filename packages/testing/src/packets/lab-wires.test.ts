import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runOnNetwork } from "@kule/lab/console/network-run";
import { systemRuntime } from "@kule/lab/runtime";
import { makeBridge } from "@kule/lab/wires/plan-wires";
import { probeWires } from "@kule/lab/wires/wires";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { requirePart } from "../parts.ts";
import { vm, WiredLab } from "./wired-lab.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);
const silent = { waitMs: 700 };
const device = (tag: number, more = "") => `virtio,bridge=vmbr1,tag=${tag},firewall=1${more}`;

describe.skipIf(part.missing)("wires of the lab", { timeout: 30_000 }, () => {
  let lab: WiredLab;

  beforeAll(async () => {
    lab = await WiredLab.start({
      networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24", "2001:db8:7::1/64"] }],
      beyond: ["198.18.0.1", "2001:db8:ffff::1"],
    });
  });
  afterEach(() => lab?.leaveMachines());
  afterAll(() => lab?.end());

  const rule = (vmid: number, form: Record<string, string | number>) =>
    lab.change(`POST ${vm(vmid)}/firewall/rules`, { enable: 1, ...form });

  test("join the machines of a VLAN, and no others, whatever their addresses", async () => {
    const one = await lab.running(31001, [{ net: device(301), ip: "ip=10.0.1.5/24,gw=10.0.1.1" }]);
    await lab.running(31002, [{ net: device(301), ip: "ip=10.0.1.6/24" }]);
    const other = await lab.running(31003, [{ net: device(302), ip: "ip=10.0.1.5/24" }]);
    await lab.running(31004, [{ net: device(302), ip: "ip=10.0.1.7/24" }]);
    expect(await one.send("icmp", "10.0.1.6")).toBe("passed");
    expect(await one.send("tcp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
    expect(await one.send("udp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
    expect(await one.send("icmp", "10.0.1.6", { bytes: 4000 })).toBe("passed");
    expect(await one.send("icmp", "10.0.1.7", silent)).toBe("silent");
    expect(await other.send("icmp", "10.0.1.6", silent)).toBe("silent");
    expect(await other.send("tcp", "10.0.1.7")).toEqual({ seenAs: "10.0.1.5" });
    expect(lab.inside(31001, "ip", "route")).toContain("default via 10.0.1.1 dev eth0");
  });

  test("share a bridge that an edge makes at the same moment", async () => {
    const [, , make = ""] = makeBridge("vmbr1v309").words;
    const together = `for each in 1 2 3 4 5 6 7 8; do sh -ec "$0" & all="$all $!"; done
      for each in $all; do wait "$each"; done; ip link del dev vmbr1v309`;
    for (let round = 0; round < 20; round += 1) await lab.wires.holder.run(["sh", "-ec", together, make]);
  });

  test("are never blamed for what a machine could not even send", async () => {
    const one = await lab.running(31005, [{ net: device(303), ip: "ip=10.0.1.5/24" }]);
    await lab.running(31006, [{ net: device(303), ip: "ip=10.0.1.6/24" }]);
    const foreign = { from: "10.0.9.9", ...silent };
    await expect(one.send("tcp", "10.0.1.6", foreign)).rejects.toThrow("EADDRNOTAVAIL");
    await expect(one.send("udp", "10.0.1.6", foreign)).rejects.toThrow("EADDRNOTAVAIL");
    // More connections than it has ports.
    lab.inside(31005, "sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=40000 40009");
    for (let dialled = 0; dialled < 30; dialled += 1)
      expect(await one.send("tcp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
  });

  test("let a guest send with its own MAC and its own addresses alone", async () => {
    const guest = await lab.running(31011, [{ net: device(311), ip: "ip=10.0.1.5/24,ip6=2001:db8:1::5/64" }]);
    const witness = await lab.running(31012, [
      { net: device(311), ip: "ip=10.0.1.6/24,ip6=2001:db8:1::6/64" },
    ]);
    expect(await guest.send("icmp", "2001:db8:1::6")).toBe("passed");
    expect(await witness.send("icmp", "10.0.1.5")).toBe("passed");
    lab.inside(31011, "ip", "addr", "add", "10.0.1.66/24", "dev", "eth0");
    lab.inside(31011, "ip", "addr", "add", "2001:db8:1::66/64", "dev", "eth0", "nodad");
    expect(await guest.send("udp", "10.0.1.6", { from: "10.0.1.66", ...silent })).toBe("silent");
    expect(await guest.send("icmp", "2001:db8:1::6", { from: "2001:db8:1::66", ...silent })).toBe("silent");
    expect(await witness.arrivals()).toEqual([]);
    // No machine learns by ARP the place of an address that is not the guest's.
    expect(await witness.send("icmp", "10.0.1.66", silent)).toBe("silent");
    expect(lab.inside(31012, "ip", "neigh", "show", "10.0.1.66")).not.toContain("lladdr");
    lab.inside(31011, "ip", "addr", "flush", "dev", "eth0", "scope", "global");
    lab.inside(31011, "ip", "link", "set", "dev", "eth0", "address", "02:00:00:00:00:66");
    lab.inside(31011, "ip", "addr", "add", "10.0.1.5/24", "dev", "eth0");
    expect(await guest.send("icmp", "10.0.1.6", silent)).toBe("silent");
  });

  test("let each of two guests use an address that both may use, on an interface that was given none", async () => {
    const shared = "198.18.7.30";
    const client = await lab.running(31017, [{ net: device(314), ip: "ip=198.18.7.1/24" }]);
    for (const [index, vmid] of [31015, 31016].entries()) {
      const mac = `BC:24:11:00:31:1${index}`;
      const net1 = `virtio=${mac},bridge=vmbr1,tag=314,firewall=1`;
      const guest = await lab.running(vmid, [
        { net: device(313), ip: `ip=10.0.1.${5 + index}/24` },
        { net: net1, ip: `ip6=fe80::be24:11ff:fe00:311${index}/64` },
      ]);
      await lab.change(`POST ${vm(vmid)}/firewall/ipset/ipfilter-net1`, { cidr: shared });
      lab.inside(vmid, "ip", "route", "add", "198.18.7.0/24", "dev", "eth1");
      expect(await client.send("tcp", shared, silent)).toBe("silent");
      lab.inside(vmid, "ip", "addr", "add", `${shared}/32`, "dev", "eth1");
      lab.inside(31017, "ip", "neigh", "flush", "dev", "eth0");
      expect(await client.send("tcp", shared)).toEqual({ seenAs: "198.18.7.1" });
      lab.inside(vmid, "ip", "addr", "add", "198.18.7.31/32", "dev", "eth1");
      expect(await guest.send("udp", "198.18.7.1", { from: "198.18.7.31", ...silent })).toBe("silent");
      lab.inside(vmid, "ip", "addr", "flush", "dev", "eth1", "scope", "global");
    }
    expect(await client.arrivals()).toEqual([]);
  });

  test("evaluate the VM's rules from the top, then its policy, and let answers pass", async () => {
    const client = await lab.running(31021, [{ net: device(321), ip: "ip=10.0.1.5/24" }]);
    const server = await lab.running(31022, [{ net: device(321), ip: "ip=10.0.1.6/24" }], {
      policy_in: "DROP",
    });
    expect(await client.send("tcp", "10.0.1.6", silent)).toBe("silent");
    expect(await server.send("tcp", "10.0.1.5")).toEqual({ seenAs: "10.0.1.6" });
    await rule(31022, {
      type: "in",
      action: "ACCEPT",
      proto: "tcp",
      dport: "22,80:90",
      source: "10.0.1.0/24",
    });
    expect(await client.send("tcp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
    expect(await client.send("udp", "10.0.1.6", silent)).toBe("silent");
    const talk = await client.connect("10.0.1.6");
    await rule(31022, { type: "in", action: "REJECT", proto: "tcp", dport: "80", source: "10.0.1.5" });
    expect(await client.send("tcp", "10.0.1.6")).toBe("refused");
    expect(await talk.speak()).toBe("passed");
    await lab.change(`DELETE ${vm(31022)}/firewall/rules/0`);
    expect(await client.send("tcp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
    await rule(31022, { type: "out", action: "DROP", proto: "icmp", "icmp-type": "echo-request" });
    expect(await server.send("icmp", "10.0.1.5", silent)).toBe("silent");
    expect(await server.send("tcp", "10.0.1.5")).toEqual({ seenAs: "10.0.1.6" });
  });

  test("follow sets, and let a guest whose set is empty send nothing", async () => {
    const client = await lab.running(31031, [{ net: device(331), ip: "ip=10.0.1.5/24" }]);
    await lab.running(31032, [{ net: device(331), ip: "ip=10.0.1.6/24" }], { policy_in: "DROP" });
    await lab.change(`POST ${vm(31032)}/firewall/ipset`, { name: "friends" });
    await rule(31032, { type: "in", action: "ACCEPT", source: "+friends" });
    expect(await client.send("tcp", "10.0.1.6", silent)).toBe("silent");
    for (const cidr of ["10.0.1.0/24", "10.0.1.5"])
      await lab.change(`POST ${vm(31032)}/firewall/ipset/friends`, { cidr });
    expect(await client.send("tcp", "10.0.1.6")).toEqual({ seenAs: "10.0.1.5" });
    await lab.change(`DELETE ${vm(31031)}/firewall/ipset/ipfilter-net0/10.0.1.5`);
    expect(await client.send("udp", "10.0.1.6", silent)).toBe("silent");
  });

  test("are added and removed with the machine, its devices and their cables", async () => {
    const witness = await lab.running(31041, [{ net: device(341), ip: "ip=10.0.1.5/24" }]);
    await lab.running(31042, [{ net: device(341), ip: "ip=10.0.1.6/24" }]);
    expect(await witness.send("icmp", "10.0.1.6")).toBe("passed");
    const { net0 } = (await lab.call(`GET ${vm(31042)}/config`)).data as { net0: string };
    const put = (form: Record<string, string>) => lab.change(`PUT ${vm(31042)}/config`, form);
    await put({ net0: `${net0},link_down=1` });
    expect(await witness.send("icmp", "10.0.1.6", silent)).toBe("silent");
    await put({ net0 });
    expect(await witness.send("icmp", "10.0.1.6")).toBe("passed");
    await put({ net0: net0.replace("tag=341", "tag=342") });
    expect(await witness.send("icmp", "10.0.1.6", silent)).toBe("silent");
    await put({ net0 });
    await put({ net0: `${net0},link_down=1` });
    await lab.change(`POST ${vm(31042)}/status/stop`);
    expect(await witness.send("icmp", "10.0.1.6", silent)).toBe("silent");
    await lab.change(`POST ${vm(31042)}/status/start`);
    expect(await witness.send("icmp", "10.0.1.6", silent)).toBe("silent");
    await put({ net0 });
    expect(await witness.send("icmp", "10.0.1.6")).toBe("passed");
    await lab.change(`POST ${vm(31042)}/status/stop`);
    await lab.change(`DELETE ${vm(31042)}?purge=1`);
    expect(await witness.send("icmp", "10.0.1.6", silent)).toBe("silent");
  });

  test("lead a public address to the internet and back", async () => {
    const guest = await lab.running(31051, [
      { net: device(351), ip: "ip=10.0.1.5/24" },
      {
        net: "virtio,bridge=vmbr0,firewall=1",
        ip: "ip=203.0.113.20/24,gw=203.0.113.1,ip6=2001:db8:7::20/64,gw6=2001:db8:7::1",
      },
    ]);
    const internet = await lab.internet();
    expect(await guest.send("tcp", "198.18.0.1")).toEqual({ seenAs: "203.0.113.20" });
    expect(await guest.send("icmp", "2001:db8:ffff::1")).toBe("passed");
    expect(await internet.send("tcp", "203.0.113.20")).toEqual({ seenAs: "203.0.113.1" });
    expect(await internet.send("icmp", "10.0.1.5", silent)).toBe("silent");
  });

  test("lead to a device without a firewall as to any other", async () => {
    const open = { net: "virtio,bridge=vmbr0", ip: "ip=203.0.113.21/24,gw=203.0.113.1" };
    const guest = await lab.running(31055, [open]);
    const internet = await lab.internet();
    expect(await internet.send("tcp", "203.0.113.21")).toEqual({ seenAs: "203.0.113.1" });
    expect(await internet.send("icmp", "203.0.113.21")).toBe("passed");
    expect(await guest.send("tcp", "198.18.0.1")).toEqual({ seenAs: "203.0.113.21" });
  });

  test("are what a person at the serial line meets", async () => {
    await lab.running(31061, [{ net: device(361), ip: "ip=10.0.1.5/24" }]);
    await lab.running(31062, [{ net: device(362), ip: "ip=10.0.1.6/24" }]);
    await lab.change(`PUT ${vm(31061)}/config`, { ciuser: "ubuntu", cipassword: "open sesame" });
    await lab.change(`POST ${vm(31061)}/status/stop`);
    await lab.change(`POST ${vm(31061)}/status/start`);
    const type = await lab.serialLine(31061, { user: "ubuntu", password: "open sesame" });
    expect(await type("ping -c 1 10.0.1.6\r", /\$ $/)).toContain("100% packet loss");
    const { net0 } = (await lab.call(`GET ${vm(31062)}/config`)).data as { net0: string };
    await lab.change(`PUT ${vm(31062)}/config`, { net0: net0.replace("tag=362", "tag=361") });
    expect(await type("ping -c 1 10.0.1.6 && echo reached\r", /\$ $/)).toMatch(
      / 0% packet loss[\s\S]*reached/,
    );
    await type("ping 10.0.1.6\r", /icmp_seq=2/);
    expect(await type("\x03", /\$ $/)).toMatch(/packets transmitted/);
    expect(await type("ping nowhere\r", /\$ $/)).toContain(
      "ping: nowhere: Temporary failure in name resolution",
    );
  });

  /** A machine with an account, and what runs in its network. */
  const withAccount = async (vmid: number, devices: Parameters<typeof lab.running>[1]) => {
    await lab.running(vmid, devices);
    await lab.leaveMachines();
    await lab.change(`PUT ${vm(vmid)}/config`, { ciuser: "ubuntu", cipassword: "open sesame" });
    await lab.change(`POST ${vm(vmid)}/status/stop`);
    await lab.change(`POST ${vm(vmid)}/status/start`);
  };
  const signIn = (vmid: number) => lab.serialLine(vmid, { user: "ubuntu", password: "open sesame" });
  const processesIn = (vmid: number) => {
    const [program = "", ...words] = [...lab.wires.atBridges(), "ip", "netns", "pids", `vm${vmid}`];
    return execFileSync(program, words, { encoding: "utf8" }).split(/\s+/).filter(Boolean);
  };

  test("carry what people at two serial lines say to each other, by TCP, UDP and HTTP", async () => {
    await withAccount(31071, [{ net: device(371), ip: "ip=10.0.1.5/24" }]);
    await withAccount(31072, [{ net: device(371), ip: "ip=10.0.1.6/24" }]);
    const [one, other] = [await signIn(31071), await signIn(31072)];
    expect(await one("ip -br addr\r", /\$ $/)).toMatch(/eth0 .* 10\.0\.1\.5\/24/);
    expect(await one("ip route get 10.0.1.6\r", /\$ $/)).toContain("dev eth0 src 10.0.1.5");

    await one("python3 -m http.server 80\r", /Serving HTTP on :: port 80/);
    const [page] = await Promise.all([
      other("curl -i http://10.0.1.5/a?b\r", /\$ $/),
      one("", /10\.0\.1\.6 - - \[.*GET \/a\?b/),
    ]);
    expect(page).toMatch(/200 OK[\s\S]*Hello from \S+\. You are 10\.0\.1\.6\./);
    expect(await one("\x03", /\$ $/)).toContain("^C");
    expect(await other("nc -zv 10.0.1.5 80\r", /\$ $/)).not.toContain("succeeded");

    for (const [listen, talk] of [
      ["nc -lv 7000", "nc 10.0.1.5 7000"],
      ["nc -luv 7000", "nc -u 10.0.1.5 7000"],
    ] as const) {
      await one(`${listen}\r`, /Listening on|Bound on/);
      await other(`${talk}\r`, /\r\n/);
      // Input before the program runs is not passed to it.
      await expect.poll(() => processesIn(31072).length).toBe(1);
      await Promise.all([one("", /10\.0\.1\.6[\s\S]*good evening/), other("good evening\r", /\r\n/)]);
      await Promise.all([other("", /and to you/), one("and to you\r", /\r\n/)]);
      await other("\x03", /\$ $/);
      await one("\x03", /\$ $/);
    }
    expect(await one("curl -m 1 http://198.18.0.1\r", /\$ $/)).toContain("curl: (7)");
  });

  test("have nothing of the lab's in them, and no process left when the line is closed", async () => {
    await withAccount(31081, [{ net: device(381), ip: "ip=10.0.1.5/24" }]);
    for (const line of ["ping 10.0.1.5", "nc -l 7000", "python3 -m http.server"]) {
      const type = await signIn(31081);
      await type(`${line}\r`, /bytes from|http\.server[\s\S]*Serving|nc -l/);
      await expect.poll(() => processesIn(31081).length).toBe(1);
      const [pid = ""] = processesIn(31081);
      const status = () => readFileSync(`/proc/${pid}/status`, "utf8");
      await expect.poll(() => /^Uid:\s+(\d+)/m.exec(status())?.[1], { message: line }).toBe("65534");
      expect(status(), line).toMatch(/^NoNewPrivs:\s+1$/m);
      expect(status(), line).toMatch(/^CapEff:\s+0+$/m);
      const names = readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((each) => each.split("=")[0]);
      expect(names.filter(Boolean).sort(), line).toEqual(["LC_ALL", "PATH"]);
      await lab.leaveMachines();
      await expect.poll(() => processesIn(31081), { timeout: 5_000 }).toEqual([]);
    }
  });

  test("end a command with too much output at a serial line, and one that runs too long", async () => {
    const started = (words: readonly string[], hasTimeLeft: boolean) => {
      let said = "";
      const command = { name: words[0] ?? "", takesInput: false, speaksOfCables: false, dropsRights: false };
      const { exitCode } = runOnNetwork(
        [],
        { ...command, words },
        {
          print: (text) => {
            said += text;
          },
          ready: async () => {},
          runtime: {
            ...systemRuntime(0, 1),
            after: (_milliseconds, callback) => {
              if (!hasTimeLeft) setImmediate(callback);
              return () => {};
            },
          },
          stop: new AbortController().signal,
        },
      );
      return exitCode.then((code) => ({ code, bytes: said.length, last: said.slice(-60) }));
    };
    const flood = await started(["yes"], true);
    expect(flood).toMatchObject({ code: 130, last: expect.stringContaining("yes: ended: it said too much") });
    expect(flood.bytes).toBeLessThan(1_100_000);
    const sleeper = await started(["sleep", "600"], false);
    expect(sleeper).toMatchObject({ code: 130, last: "sleep: ended after 15 minutes\n" });
  });

  // A start is a third of a second of work, and was seen to wait fifteen for it on a machine with a load of twenty.
  test("are removed with the lab, however it ends", { timeout: 100_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "kule-wires-killed-"));
    const main = import.meta.resolve("@kule/lab/main").replace("file://", "");
    const child = spawn(process.execPath, [main], {
      env: {
        PATH: process.env.PATH,
        KULE_LAB_DIR: folder,
        KULE_LAB_PORT: "0",
        KULE_LAB_WIRES: "on",
        KULE_LAB_INTERNET: '{"hasWeb":true}',
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let complaint = "";
    child.stderr.on("data", (bytes) => {
      complaint += bytes;
    });
    const said = JSON.parse(
      await new Promise<string>((resolve, reject) => {
        child.stdout.once("data", (bytes) => resolve(`${bytes}`));
        child.once("exit", () => reject(new Error(`the lab ended: ${complaint}`)));
        const mute = () => reject(new Error(`the lab says nothing: ${complaint} ${whereIs(child.pid)}`));
        setTimeout(mute, 80_000).unref();
      }),
    ) as {
      wires: unknown;
      edge: { port: number };
    };
    expect(said).toMatchObject({ wires: "on", edge: { port: expect.any(Number) } });
    const holders = () => {
      try {
        return execFileSync("pgrep", ["-P", String(child.pid)], { encoding: "utf8" })
          .trim()
          .split("\n");
      } catch {
        return [];
      }
    };
    const held = holders();
    // The holder of the namespaces, and the internet's web server.
    expect(held).toHaveLength(2);
    child.kill("SIGKILL");
    await expect
      .poll(() => held.filter((pid) => existsSync(`/proc/${pid}/ns/net`)), { timeout: 5_000 })
      .toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});

/** The state of a process and its children. */
function whereIs(pid = 0): string {
  return execFileSync(
    "ps",
    ["-o", "pid,stat,wchan:30,time,args", "--pid", String(pid), "--ppid", String(pid)],
    {
      encoding: "utf8",
    },
  );
}
