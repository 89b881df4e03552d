import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import { passwordFits } from "../console/guest-facts.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";
import { sha256Crypt } from "./sha256-crypt.ts";

let lab: Lab;
const LINUX = "/nodes/pve1/qemu/20500";
const WINDOWS = "/nodes/pve1/qemu/20501";
const key = (() => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(11);
  return `ssh-ed25519 ${Buffer.concat([length, Buffer.from("ssh-ed25519"), Buffer.alloc(36, 7)]).toString("base64")}`;
})();
beforeAll(async () => {
  lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20500, name: "web-1" } });
  await run(lab, "POST /nodes/pve1/qemu/9005/clone", { form: { newid: 20501, name: "win-1" } });
  await put(LINUX, {
    ciuser: "ubuntu",
    cipassword: "correct horse",
    sshkeys: encodeURIComponent(`${key}\n${key}`),
    net0: "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=100",
    ipconfig0: "ip=10.0.0.5/24,gw=10.0.0.1",
    nameserver: "10.0.0.1 1.1.1.1",
    searchdomain: "example.internal",
    ciupgrade: 0,
  });
});
const put = async (vm: string, form: Record<string, string | number>) =>
  await call(lab, `PUT ${vm}/config`, { form });
const dump = async (vm: string, type: string) =>
  (await call(lab, `GET ${vm}/cloudinit/dump?type=${type}`)).data as string;

describe("nocloud", () => {
  test("user data contains host name, user, hash, keys, and no upgrade", async () => {
    const user = await dump(LINUX, "user");
    const hash = /^password: (\$5\$.+)$/m.exec(user)?.[1];
    expect(hash).toBeDefined();
    expect(user).toBe(
      [
        "#cloud-config",
        "hostname: web-1",
        "manage_etc_hosts: true",
        "fqdn: web-1.example.internal",
        "user: ubuntu",
        `password: ${hash}`,
        "ssh_authorized_keys:",
        `  - ${key}`,
        `  - ${key}`,
        "chpasswd:",
        "  expire: False",
        "users:",
        "  - default",
        "",
      ].join("\n"),
    );
  });

  test("network data is version 1, matched by MAC, with DNS at the end", async () => {
    expect(await dump(LINUX, "network")).toBe(
      `version: 1
config:
    - type: physical
      name: eth0
      mac_address: 'bc:24:11:00:00:01'
      subnets:
      - type: static
        address: '10.0.0.5'
        netmask: '255.255.255.0'
        gateway: '10.0.0.1'
    - type: nameserver
      address:
      - '10.0.0.1'
      - '1.1.1.1'
      search:
      - 'example.internal'
`,
    );
  });

  test("the instance id is the hash of user and network data", async () => {
    const [user, network, meta] = await Promise.all(
      ["user", "network", "meta"].map((type) => dump(LINUX, type)),
    );
    const id = createHash("sha1").update(`${user}${network}`).digest("hex");
    expect(meta).toBe(`instance-id: ${id}\n`);
  });

  test("an ipconfig without addresses is DHCP, and without a nameserver the host's leaks in", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20502 } });
    await put("/nodes/pve1/qemu/20502", { delete: "nameserver,searchdomain,ipconfig0" });
    expect(await dump("/nodes/pve1/qemu/20502", "network")).not.toContain("eth0");
    await put("/nodes/pve1/qemu/20502", { ipconfig0: "ip6=auto" });
    const network = await dump("/nodes/pve1/qemu/20502", "network");
    expect(network).toContain("- type: ipv6_slaac");
    expect(network).toContain("- '192.0.2.53'");
    expect(await dump("/nodes/pve1/qemu/20502", "user")).toContain("package_upgrade: true");
  });

  test("a gateway without an address is refused", async () => {
    const answer = await put(LINUX, { ipconfig0: "gw=10.0.0.1" });
    expect(answer.errors?.ipconfig0).toContain("ipconfig0.ip: missing property required by 'ipconfig0.gw'");
  });

  test("a key's comment is in the YAML unchanged", async () => {
    await put("/nodes/pve1/qemu/20502", { sshkeys: encodeURIComponent(`${key} me: x`) });
    expect(await dump("/nodes/pve1/qemu/20502", "user")).toContain(`  - ${key} me: x\n`);
  });
});

describe("passwords", () => {
  test("are hashed, masked in the config, and unchanged when they are a hash already", async () => {
    const config = (await call(lab, `GET ${LINUX}/config`)).data;
    expect(config.cipassword).toBe("**********");
    expect(lab.control.vm(20500)?.config.cipassword).toMatch(/^\$5\$[./A-Za-z0-9]{8}\$[./A-Za-z0-9]{43}$/);
    const hash = "$6$saltsalt$abcdefghijk";
    await put("/nodes/pve1/qemu/20502", { cipassword: hash });
    expect(lab.control.vm(20502)?.config.cipassword).toBe(hash);
  });

  test("of Windows stay in clear text and reach cloudbase-init as admin_pass", async () => {
    await put(WINDOWS, {
      cipassword: "Clear-Text-1",
      ipconfig0: "ip=10.0.0.9/24,gw=10.0.0.1",
      nameserver: "10.0.0.1",
    });
    expect(lab.control.vm(20501)?.config.cipassword).toBe("Clear-Text-1");
    expect(JSON.parse(await dump(WINDOWS, "meta"))).toMatchObject({
      admin_pass: "Clear-Text-1",
      network_config: { content_path: "/content/0000" },
    });
    expect(await dump(WINDOWS, "network")).toContain("        dns-nameservers 10.0.0.1\n");
  });

  test("are hashed as crypt(3) does", () => {
    // Vectors from `openssl passwd -5`.
    expect(sha256Crypt("Hello world!", "saltstring")).toBe(
      "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
    );
    expect(sha256Crypt("a much longer password than thirty-two bytes are, by far", "abcdefgh")).toBe(
      "$5$abcdefgh$p/c6rLDYewJchvbdr8XO9We6NdrIQIsaNvngxM9wk3C",
    );
  });
});

describe("the drive", () => {
  test("is written at start; later changes show as pending until it is written again", async () => {
    const pending = async () =>
      (
        (await call(lab, `GET ${LINUX}/cloudinit`)).data as {
          key: string;
          value?: string;
          pending?: string;
        }[]
      ).filter((entry) => entry.pending !== undefined);
    expect(lab.control.vm(20500)?.drive).toBeNull();
    await run(lab, `POST ${LINUX}/status/start`);
    expect(lab.control.vm(20500)?.drive?.user).toContain("hostname: web-1");
    await put(LINUX, { searchdomain: "other.internal" });
    expect(await pending()).toEqual([
      { key: "searchdomain", value: "example.internal", pending: "other.internal" },
    ]);
    expect(lab.control.vm(20500)?.drive?.user).toContain("example.internal");
    expect((await call(lab, `PUT ${LINUX}/cloudinit`)).status).toBe(200);
    expect(await pending()).toEqual([]);
    expect(lab.control.vm(20500)?.drive?.user).toContain("other.internal");
  });

  test("with other data makes the guest a new instance at its next boot, the same data does not", async () => {
    const firstBoots = () => lab.control.vm(20500)?.guest.firstBoots;
    const restart = async () => {
      await run(lab, `POST ${LINUX}/status/stop`);
      await run(lab, `POST ${LINUX}/status/start`);
    };
    await restart();
    const before = firstBoots();
    await restart();
    expect(firstBoots()).toBe(before);
    await put(LINUX, { delete: "cipassword" });
    await restart();
    expect(firstBoots()).toBe((before ?? 0) + 1);
  });

  test("sets no password for a Windows that has none on its drive: the one that its agent has set stays", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9005/clone", { form: { newid: 20504 } });
    const path = "/nodes/pve1/qemu/20504";
    const opens = (password: string) => {
      const vm = lab.control.vm(20504);
      return vm !== undefined && passwordFits(vm, "Administrator", password);
    };
    await put(path, { ciuser: "Administrator", ipconfig0: "ip=10.1.0.5/24" });
    await run(lab, `POST ${path}/status/start`);
    const form = { username: "Administrator", password: "told-by-agent" };
    expect((await call(lab, `POST ${path}/agent/set-user-password`, { form })).status).toBe(200);
    const asNewInstance = async (change: Record<string, string>) => {
      await put(path, change);
      await run(lab, `POST ${path}/status/stop`);
      await run(lab, `POST ${path}/status/start`);
    };
    await asNewInstance({ ipconfig0: "ip=10.1.0.6/24" });
    expect(lab.control.vm(20504)?.guest.firstBoots).toBe(2);
    expect(opens("told-by-agent")).toBe(true);
    await asNewInstance({ cipassword: "On-The-Drive-1" });
    expect([opens("told-by-agent"), opens("On-The-Drive-1")]).toEqual([false, true]);
  });

  test("cannot have snippets without a way to upload them", async () => {
    await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 20503 } });
    await put("/nodes/pve1/qemu/20503", { cicustom: "user=local:snippets/x.yaml" });
    expect(await run(lab, "POST /nodes/pve1/qemu/20503/status/start")).toBe(
      "volume 'local:snippets/x.yaml' does not exist",
    );
  });
});
