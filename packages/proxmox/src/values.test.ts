import { describe, expect, it } from "vitest";
import { configDifference } from "./config-difference.ts";
import { bootDiskOf, disksOf } from "./disks.ts";
import { parseMarker, renderMarker } from "./marker.ts";
import { parseNetDevice, renderIpConfig, renderNetDevice, sameNetDevice } from "./property-string.ts";
import { redactText } from "./redaction.ts";
import { parseSize, renderSize } from "./sizes.ts";
import { decodeSshKeys, encodeSshKeys } from "./ssh-keys.ts";
import { parseTags, sameTags } from "./tags.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJv1kYq1u4a8m1mGv0A5p0cQyXk6k1m2b3c4d5e6f7g8";

describe("A network device", () => {
  it("is the same in another order, another spelling and another case", () => {
    expect(
      sameNetDevice(
        "virtio=bc:24:11:00:00:0a,bridge=vmbr1,tag=120,firewall=1",
        "model=virtio,firewall=1,macaddr=BC:24:11:00:00:0A,tag=120,bridge=vmbr1",
      ),
    ).toBe(true);
    for (const other of ["tag=121", "tag=120,mtu=1400", "tag=120,link_down=1"])
      expect(
        sameNetDevice(
          "virtio=BC:24:11:00:00:0A,bridge=vmbr1,tag=120",
          `virtio=BC:24:11:00:00:0A,bridge=vmbr1,${other}`,
        ),
      ).toBe(false);
  });

  it("is never written without a unicast MAC, because Proxmox would generate a new one each time", () => {
    const device = parseNetDevice("virtio=BC:24:11:00:00:0A,bridge=vmbr1,tag=7,firewall=1");
    expect(renderNetDevice(device)).toBe("virtio=BC:24:11:00:00:0A,bridge=vmbr1,tag=7,firewall=1");
    for (const mac of [null, "01:00:5E:00:00:01", "nonsense"])
      expect(() => renderNetDevice({ ...device, mac })).toThrow(TypeError);
  });
});

describe("An address", () => {
  it("has no gateway where there is none", () => {
    expect(renderIpConfig({ address: "10.0.0.5", prefix: 24, gateway: "10.0.0.1" })).toBe(
      "ip=10.0.0.5/24,gw=10.0.0.1",
    );
    expect(renderIpConfig({ address: "10.0.0.5", prefix: 24, gateway: null })).toBe("ip=10.0.0.5/24");
  });
});

describe("A size", () => {
  it("is read in every unit and written without a sign", () => {
    expect([
      parseSize("40G"),
      parseSize("41472M"),
      parseSize("4194304K"),
      parseSize("1.5G"),
      parseSize("512"),
      parseSize("+5G"),
      parseSize(undefined),
    ]).toEqual([40 * 2 ** 30, 41472 * 2 ** 20, 2 ** 32, 1.5 * 2 ** 30, 512, null, null]);
    expect([renderSize(40 * 2 ** 30), renderSize(2 ** 40), renderSize(1536 * 2 ** 20)]).toEqual([
      "40G",
      "1T",
      "1536M",
    ]);
  });
});

describe("SSH keys", () => {
  it("lose the comment that could change cloud-init's YAML", () => {
    const encoded = encodeSshKeys([`${key} me: x #`, `${key} runcmd`]);
    expect(decodeURIComponent(encoded)).toBe(`${key}\n${key}`);
    expect(encoded).toMatch(/^[-%a-zA-Z0-9_.!~*'()]+$/);
    expect(decodeSshKeys(`${encodeURIComponent(`${key} somebody@host`)}%0A`)).toEqual([key]);
  });

  it("are refused when they are none", () => {
    for (const bad of ["", "hello", `${key}\nruncmd: [x]`, `command="x" ${key}`, "ssh-ed25519 not*base64"])
      expect(() => encodeSshKeys([bad]), bad).toThrow(TypeError);
  });
});

describe("Tags", () => {
  it("are a set, whatever the separator, order and case", () => {
    expect(parseTags("kule;SRV_1, org_2 kule")).toEqual(["kule", "org_2", "srv_1"]);
    expect(sameTags(["B", "a"], ["a", "b", "b"])).toBe(true);
    expect(sameTags(["a"], ["a", "b"])).toBe(false);
  });
});

describe("The marker", () => {
  const marker = { serverId: "srv_1", organisationId: "org_1", region: "ist1", jobId: "job_1" };
  it("is found among an operator's own words", () => {
    expect(parseMarker(`Do not touch!\n${renderMarker(marker)}  \nthanks`)).toEqual(marker);
  });
  it("is not found where there is none, or more than one", () => {
    expect(parseMarker(undefined)).toBeNull();
    expect(parseMarker(" qmclone temporary file")).toBeNull();
    expect(parseMarker(`x ${renderMarker(marker)}`)).toBeNull();
    expect(
      parseMarker(`${renderMarker(marker)}\n${renderMarker({ ...marker, serverId: "srv_2" })}`),
    ).toBeNull();
  });
  it("cannot be forged through a value", () => {
    expect(() => renderMarker({ ...marker, region: "x job=y\nkule:v1" })).toThrow(TypeError);
  });
});

describe("Disks", () => {
  const config = {
    ide2: "ceph-vm:vm-20001-cloudinit,media=cdrom,size=4M",
    scsi0: "ceph-vm:vm-20001-disk-0,discard=on,size=40G",
    scsi1: "local:20001/vm-20001-disk-1.qcow2,size=10G",
    scsihw: "virtio-scsi-single",
  };
  it("are distinguished from the cloud-init drive and from similar keys", () => {
    expect(disksOf(config).map((disk) => [disk.key, disk.media, disk.cloudInit])).toEqual([
      ["ide2", "cdrom", true],
      ["scsi0", "disk", false],
      ["scsi1", "disk", false],
    ]);
    expect(disksOf({ ide0: "local:20001/vm-20001-cloudinit.qcow2,media=cdrom" })[0]?.cloudInit).toBe(true);
  });
  it("have one that is booted from, or none that can be determined", () => {
    expect(bootDiskOf({ ...config, boot: "order=ide2;scsi1" })?.key).toBe("scsi1");
    expect(bootDiskOf({ ...config, bootdisk: "scsi0" })?.key).toBe("scsi0");
    expect(bootDiskOf(config)).toBeNull();
    expect(bootDiskOf({ scsi0: config.scsi0 })?.key).toBe("scsi0");
  });
});

describe("The difference between a config and what it should be", () => {
  it("is empty when every key means the same", () => {
    const seen = {
      cores: "2",
      agent: "1,fstrim_cloned_disks=1",
      tags: "b;a",
      onboot: "0",
      cipassword: "**********",
      sshkeys: encodeURIComponent(`${key} me`),
      net0: "virtio=BC:24:11:00:00:0A,tag=7,bridge=vmbr1",
      memory: "2048",
      name: "web-1",
    };
    const desired = {
      cores: "2",
      agent: "enabled=1",
      tags: "a;b",
      onboot: null,
      protection: null,
      cipassword: "$6$x",
      sshkeys: encodeSshKeys([key]),
      net0: "virtio=bc:24:11:00:00:0a,bridge=vmbr1,tag=7",
      memory: "2048",
      name: "web-1",
    };
    expect(configDifference(desired, seen, false)).toEqual({ set: {}, remove: [] });
    expect(configDifference(desired, seen, true)).toEqual({ set: { cipassword: "$6$x" }, remove: [] });
  });

  it("removes the template's leftovers", () => {
    const seen = {
      hookscript: "local:snippets/x",
      net0: "virtio=BC:24:11:00:00:0A,bridge=vmbr1",
      net1: "virtio=BC:24:11:00:00:0C,bridge=vmbr0",
      ipconfig1: "ip=dhcp",
      ide2: "x:cloudinit",
    };
    const desired = { hookscript: null, net0: seen.net0, ipconfig0: "ip=10.0.0.5/24" };
    expect(configDifference(desired, seen, false)).toEqual({
      set: { ipconfig0: "ip=10.0.0.5/24" },
      remove: ["hookscript", "ipconfig1", "net1"],
    });
  });
});

describe("A text for a log", () => {
  it("loses tokens, tickets and passwords wherever they occur", () => {
    const text = redactText(
      "PVEAPIToken=a@pve!b=11111111-2222 ticket=PVEVNC:65F0::abc+/= cipassword=hunter2 and topsecret",
      ["topsecret"],
    );
    for (const hidden of ["11111111", "abc+/=", "hunter2", "topsecret"]) expect(text).not.toContain(hidden);
  });
});
