import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadRegionFile, parseRegionFile } from "./load-region-file.ts";
import { RegionFileError, type RegionFileFinding } from "./region-file-error.ts";

const examplePath = new URL("../../../docs/region.example.yaml", import.meta.url).pathname;
const example = readFileSync(examplePath, "utf8");
const environment = {
  KULE_AGENT_TOKEN: "kule_agent_06ex2v3m8n_0123456789abcdefghijABCDEFGHIJ01a1b2c3",
  KULE_PVE_TOKEN: "cloud@pve!agent=8a1f3c5e-0000-4000-8000-123456789abc",
  KULE_EDGE_KEY: "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-region-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The example with one piece replaced, which must be in it. */
function withChange(from: string | RegExp, to: string): string {
  const changed = example.replace(from, () => to);
  expect(changed).not.toBe(example);
  return changed;
}

function refusal(text: string, variables: Record<string, string> = environment): RegionFileError {
  try {
    parseRegionFile(text, join(folder, "ist1.yaml"), variables);
  } catch (error) {
    if (error instanceof RegionFileError) return error;
    throw error;
  }
  throw new Error("the file was accepted");
}

function onlyFinding(text: string, variables?: Record<string, string>): RegionFileFinding {
  const { findings } = refusal(text, variables);
  expect(findings).toHaveLength(1);
  return findings[0] as RegionFileFinding;
}

/** Line and column, from 1, of the text in a file. */
function placeOf(text: string, fragment: string): { line: number; column: number } {
  const before = text.slice(0, text.indexOf(fragment)).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

describe("A region file that is right", () => {
  it("is the published example, with ranges as numbers and defaults filled in", () => {
    const file = loadRegionFile(examplePath, environment);
    expect(file.region).toBe("ist1");
    expect(file.controlPlane.url).toBe("https://kule.example/api/v1");
    expect(file.controlPlane.token.reveal()).toBe(environment.KULE_AGENT_TOKEN);
    expect(file.hypervisor.token.reveal()).toBe(environment.KULE_PVE_TOKEN);
    expect(file.hypervisor.vmidRange).toEqual({ first: 20000, last: 29999 });
    expect(file.network).toEqual({
      bridge: "vmbr1",
      vlanRange: { first: 100, last: 999 },
      public: { bridge: "vmbr0", vlan: 10 },
    });
    expect(file.templates["windows-2022"]).toEqual({ vmid: 9010 });
    expect(file.edge).toMatchObject({
      transport: "ssh",
      host: "edge1.example",
      port: 22,
      user: "kule",
      hostKey: "SHA256:uNiVztksCsDhcc0u9e8BrVXw8E7eFyJ8gPuUzQH8tXk",
    });
    expect(file.agent).toMatchObject({ concurrency: 4, healthSeconds: 20, name: null });
    expect(file.agent.stateDirectory).toBe(join(examplePath, "..", ".kule-agent"));
  });

  it("needs no more than the sections without defaults", () => {
    const file = parseRegionFile(
      `region: lab1
control_plane: http://127.0.0.1:8080/api/v1/
hypervisor:
  kind: proxmox
  endpoints: [https://127.0.0.1:8006]
  token_env: KULE_PVE_TOKEN
  tls: { system: true }
  vmid_range: 20000-29999
storage: { disks: local-lvm }
network: { bridge: vmbr1, vlan_range: 100-999 }
templates: { ubuntu-24.04: { vmid: 9000 } }
`,
      "lab1.yaml",
      environment,
    );
    expect(file.controlPlane.url).toBe("http://127.0.0.1:8080/api/v1");
    expect(file.storage).toEqual({ disks: "local-lvm", cloudinit: "local-lvm" });
    expect(file.hypervisor).toMatchObject({ clone: "full", poolPrefix: "kule", tls: { system: true } });
    expect(file.edge).toBeNull();
    expect(file.agent.concurrency).toBe(4);
  });

  it("takes secrets from files next to it", () => {
    writeFileSync(join(folder, "pve-token"), `${environment.KULE_PVE_TOKEN}\n`, { mode: 0o600 });
    writeFileSync(join(folder, "agent-token"), `${environment.KULE_AGENT_TOKEN}\n`, { mode: 0o600 });
    const text = withChange("token_env: KULE_PVE_TOKEN", "token_file: pve-token").replace(
      /^control_plane:.*$/m,
      "control_plane: { url: https://kule.example/api/v1, token_file: agent-token }",
    );
    const file = parseRegionFile(text, join(folder, "ist1.yaml"), {
      KULE_EDGE_KEY: environment.KULE_EDGE_KEY,
    });
    expect(file.hypervisor.token.reveal()).toBe(environment.KULE_PVE_TOKEN);
    expect(file.controlPlane.token.reveal()).toBe(environment.KULE_AGENT_TOKEN);
  });

  it("does not show its secrets when it is logged", () => {
    const file = loadRegionFile(examplePath, environment);
    const shown = `${JSON.stringify(file)}${inspect(file, { depth: 9 })}${file.hypervisor.token}`;
    for (const secret of Object.values(environment)) expect(shown).not.toContain(secret.trim());
  });
});

describe("A region file that is wrong", () => {
  it.each([
    {
      what: "a mistyped key",
      from: "vlan_range:",
      to: "vlanrange:",
      key: "network.vlanrange",
      fix: /did you mean vlan_range/,
    },
    {
      what: "a key that nothing resembles",
      from: "region: ist1",
      to: "region: ist1\ncolour: red",
      key: "colour",
      fix: /known here: region, control_plane/,
    },
    {
      what: "an unknown key of a template",
      from: "{ vmid: 9001 }",
      to: "{ vmid: 9001, node: pve1 }",
      key: "templates.debian-13.node",
      fix: /known here: vmid/,
    },
    {
      what: "a range that ends before it begins",
      from: "20000-29999",
      to: "29999-20000",
      key: "hypervisor.vmid_range",
      fix: /20000-29999/,
    },
    {
      what: "a VLAN past the end",
      from: "100-999",
      to: "100-4095",
      key: "network.vlan_range",
      fix: /inside/,
    },
    {
      what: "a range that is not one",
      from: "100-999",
      to: "100..999",
      key: "network.vlan_range",
      fix: /such as 100-999/,
    },
    {
      what: "a template inside the VM ids of servers",
      from: "9001",
      to: "20001",
      key: "templates.debian-13.vmid",
      fix: /outside the range/,
    },
    {
      what: "one template for two images",
      from: "9001",
      to: "9000",
      key: "templates.debian-13.vmid",
      fix: /own template/,
    },
    {
      what: "a template id that is a text",
      from: "9001",
      to: '"9001"',
      key: "templates.debian-13.vmid",
      fix: /as a number/,
    },
    {
      what: "a public VLAN among the private ones",
      from: "bridge: vmbr0, vlan: 10",
      to: "bridge: vmbr1, vlan: 100",
      key: "network.public.vlan",
      fix: /another bridge/,
    },
    {
      what: "an endpoint with a path",
      from: "https://pve2.example:8006",
      to: "https://pve2.example:8006/api2",
      key: "hypervisor.endpoints[1]",
      fix: /nothing else/,
    },
    {
      what: "an endpoint without its port",
      from: "https://pve2.example:8006",
      to: "https://pve2.example",
      key: "hypervisor.endpoints[1]",
      fix: /port/,
    },
    {
      what: "the same endpoint twice",
      from: "https://pve2.example:8006",
      to: "https://pve1.example:8006",
      key: "hypervisor.endpoints[0]",
      fix: /remove one/,
    },
    {
      what: "an unencrypted control plane",
      from: "https://kule.example/api/v1",
      to: "http://kule.example/api/v1",
      key: "control_plane",
      fix: /https:/,
    },
    {
      what: "a control plane without its path",
      from: "https://kule.example/api/v1",
      to: "https://kule.example",
      key: "control_plane",
      fix: /\/api\/v1/,
    },
    {
      what: "an unknown hypervisor",
      from: "kind: proxmox",
      to: "kind: vmware",
      key: "hypervisor.kind",
      fix: /proxmox/,
    },
    {
      what: "a fingerprint of another kind",
      from: /"91:0E.*"/,
      to: '"91:0E:C4"',
      key: "hypervisor.tls.fingerprints[1]",
      fix: /openssl x509/,
    },
    {
      what: "a certificate authority besides fingerprints",
      from: "    fingerprints:",
      to: "    ca: root.pem\n    fingerprints:",
      key: "hypervisor.tls",
      fix: /exactly one/,
    },
    {
      what: "an image slug that cannot be one",
      from: "debian-13:",
      to: "Debian 13:",
      key: "templates.Debian 13",
      fix: /GET \/catalog/,
    },
    {
      what: "a template without its VM id",
      from: "{ vmid: 9001 }",
      to: "{}",
      key: "templates.debian-13",
      fix: /vmid: 9000/,
    },
    {
      what: "a template both for all nodes and for each",
      from: "{ vmid: 9001 }",
      to: "{ vmid: 9001, vmid_by_node: { pve1: 9002 } }",
      key: "templates.debian-13",
      fix: /vmid: 9000/,
    },
    {
      what: "one VM id as the template of two nodes",
      from: "{ vmid: 9001 }",
      to: "{ vmid_by_node: { pve1: 9001, pve2: 9001 } }",
      key: "templates.debian-13.vmid_by_node.pve2",
      fix: /own template/,
    },
    {
      what: "two places for one token",
      from: "token_env: KULE_PVE_TOKEN",
      to: "token_env: KULE_PVE_TOKEN\n  token_file: pve",
      key: "hypervisor",
      fix: /remove token_env or token_file/,
    },
    {
      what: "no place for the token",
      from: /^ {2}token_env.*\n/m,
      to: "",
      key: "hypervisor",
      fix: /add token_env/,
    },
    {
      what: "an edge over SSH without a host",
      from: /^ {2}host:.*\n/m,
      to: "",
      key: "edge",
      fix: /host name or address/,
    },
    {
      what: "an edge over SSH whose host may be anybody",
      from: /^ {2}host_key:.*\n/m,
      to: "",
      key: "edge",
      fix: /ssh-keygen -lf/,
    },
    {
      what: "a host key of another kind",
      from: /"SHA256:.*"/,
      to: '"MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48"',
      key: "edge.host_key",
      fix: /ssh-keygen -lf/,
    },
    {
      what: "a port of the edge that is none",
      from: "  host: edge1.example",
      to: "  host: edge1.example\n  port: 70000",
      key: "edge.port",
      fix: /between 1 and 65535/,
    },
    {
      what: "a trunk whose bridges could not be named",
      from: "interface: eth1, mode: vlan",
      to: "interface: enp193s0f1np1, mode: bridge",
      key: "edge.trunk.interface",
      fix: /shorter name/,
    },
    {
      what: "an edge's name that is no interface",
      from: "eth0",
      to: "eth0;reboot",
      key: "edge.uplink.interface",
      fix: /ip link/,
    },
    {
      what: "too many jobs at once",
      from: "concurrency: 4",
      to: "concurrency: 4000",
      key: "agent.concurrency",
      fix: /between 1 and 64/,
    },
    { what: "a section left out", from: /^storage:\n.*\n.*\n/m, to: "", key: "", fix: /add storage/ },
    {
      what: "a section left empty",
      from: /^storage:\n.*\n.*\n/m,
      to: "storage:\n",
      key: "storage",
      fix: /disks/,
    },
    {
      what: "a key written twice",
      from: "region: ist1",
      to: "region: ist1\nregion: ist2",
      key: "",
      fix: /remove one/,
    },
    { what: "an open bracket", from: "8006]", to: "8006", key: "", fix: /brackets/ },
  ])("is refused for $what, with the key and a fix", ({ from, to, key, fix }) => {
    const { findings } = refusal(withChange(from, to));
    expect(findings.map((each) => each.key)).toContain(key);
    const finding = findings.find((each) => each.key === key);
    expect(finding?.fix).toMatch(fix);
    expect(finding?.line).toBeGreaterThan(0);
    expect(finding?.column).toBeGreaterThan(0);
  });

  it("is refused when servers go to nodes that have no template of their own", () => {
    const local = withChange("{ vmid: 9001 }", "{ vmid_by_node: { pve1: 9001, pve2: 9002 } }");
    const onNodes = (nodes: string) =>
      local.replace("  clone: full", `  clone: full\n  target_nodes: ${nodes}`);
    const file = parseRegionFile(onNodes("[pve2, pve1]"), "ist1.yaml", environment);
    expect(file.templates["debian-13"]).toEqual({ vmidByNode: { pve1: 9001, pve2: 9002 } });
    expect(file.hypervisor.targetNodes).toEqual(["pve2", "pve1"]);
    expect(onlyFinding(onNodes("[pve1, pve3]"))).toMatchObject({
      key: "templates.debian-13.vmid_by_node",
      message: "names other nodes (pve1, pve2) than hypervisor.target_nodes (pve1, pve3)",
    });
  });

  it("names the line and column of the wrong value, and of an unknown key the key's own", () => {
    const wrongValue = withChange("{ vmid: 9001 }", '{ vmid: "x" }');
    expect(onlyFinding(wrongValue)).toMatchObject(placeOf(wrongValue, '"x"'));
    const unknownKey = withChange("{ vmid: 9001 }", "{ vmid: 9001, nodes: pve1 }");
    expect(onlyFinding(unknownKey)).toMatchObject(placeOf(unknownKey, "nodes: pve1"));
  });

  it("is refused once, with everything that is wrong in the order of its lines", () => {
    const text = withChange("vmid_range:", "vmid_rnge:")
      .replace("bridge: vmbr1", "bridge: 7")
      .replace("concurrency: 4", "concurrency: 0");
    const { findings, message } = refusal(text);
    expect(findings.map((each) => each.key)).toEqual([
      "hypervisor",
      "hypervisor.vmid_rnge",
      "network.bridge",
      "agent.concurrency",
    ]);
    expect(message).toMatch(/ist1\.yaml cannot be used: 4 problems\n/);
    expect(message).toMatch(/ist1\.yaml:\d+:\d+: network\.bridge: must be a text, is a number\n {4}fix: /);
  });

  it("is refused with a fix when it is empty or not there", () => {
    expect(onlyFinding("# nothing\n").fix).toMatch(/region\.example\.yaml/);
    expect(() => loadRegionFile(join(folder, "absent.yaml"), environment)).toThrow(
      /there is no file .*absent\.yaml\n {4}fix: correct the path/,
    );
  });

  it("is refused when it uses an alias bomb", () => {
    const bomb = `${Array.from(
      { length: 9 },
      (_, n) =>
        `a${n}: &a${n} [${
          n === 0
            ? "x"
            : Array(9)
                .fill(`*a${n - 1}`)
                .join(",")
        }]`,
    ).join("\n")}\n`;
    expect(() => parseRegionFile(bomb, "bomb.yaml", environment)).toThrow(RegionFileError);
  });
});

describe("Secrets of a region file", () => {
  it("are missing: the variable is named, at the line that refers to it", () => {
    const { KULE_PVE_TOKEN: _, ...others } = environment;
    const finding = onlyFinding(example, others);
    expect(finding).toMatchObject(placeOf(example, "KULE_PVE_TOKEN # holds"));
    expect(finding.message).toBe("the environment variable KULE_PVE_TOKEN is not set");
    expect(onlyFinding(example, { ...environment, KULE_AGENT_TOKEN: " " }).message).toMatch(
      /KULE_AGENT_TOKEN is empty/,
    );
  });

  it("are refused in the file itself, and never repeated in a message", () => {
    const secret = "cloud@pve!agent=8a1f3c5e-4444-4000-8000-123456789abc";
    for (const key of ["token", "token_env", "password"]) {
      const { message } = refusal(withChange("token_env: KULE_PVE_TOKEN", `${key}: "${secret}"`));
      expect(message).toMatch(/environment variable/);
      expect(message).not.toContain("8a1f3c5e-4444");
    }
    const broken = refusal(withChange("token_env: KULE_PVE_TOKEN", `token: "${secret}\n  tls`));
    expect(broken.message).not.toContain("8a1f3c5e-4444");
  });

  it("are refused when they are of the wrong kind, such as one token in the other's place", () => {
    const swapped = { ...environment, KULE_PVE_TOKEN: environment.KULE_AGENT_TOKEN };
    expect(onlyFinding(example, swapped).message).toMatch(/does not hold a Proxmox API token/);
    const { message } = refusal(example, { ...environment, KULE_AGENT_TOKEN: environment.KULE_PVE_TOKEN });
    expect(message).toMatch(/does not hold an agent token/);
    expect(message).not.toContain("8a1f3c5e");
  });

  it("are refused in files that every account can read", () => {
    const path = join(folder, "open-token");
    writeFileSync(path, environment.KULE_PVE_TOKEN);
    chmodSync(path, 0o644);
    const finding = onlyFinding(withChange("token_env: KULE_PVE_TOKEN", "token_file: open-token"));
    expect(finding).toMatchObject({ key: "hypervisor.token_file", fix: `chmod o= ${path}` });
  });

  it("name a certificate authority that is one", () => {
    const text = withChange(/ {2}tls:\n(.*\n){3}/, "  tls: { ca: root.pem }\n");
    expect(onlyFinding(text).message).toMatch(/there is no file .*root\.pem/);
    writeFileSync(join(folder, "root.pem"), "not a certificate");
    expect(onlyFinding(text).message).toMatch(/holds no certificate in PEM form/);
  });
});
