import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Binary, buildAgentBinary } from "@kule/build/agent-binary/build-agent-binary";
import { isArchitecture } from "@kule/build/agent-binary/node-binary";
import { type Lab, startLab } from "@kule/lab/lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderLabRegionFile } from "../lab-region-file.ts";
import { requirePart } from "../parts.ts";
import { probeSshd, startSshd } from "../rig/sshd.ts";

const { arch } = process;
const part = await requirePart(
  "an agent's binary",
  () => (isArchitecture(arch) && process.platform === "linux" ? undefined : `none is built for ${arch}`),
  import.meta.filename,
);
const ssh = await requirePart("sshd", probeSshd, import.meta.filename);

/** The file that operators are given: Node with the agent inside. */
describe.skipIf(part.missing)("the binary kule-agent", { timeout: 120_000 }, () => {
  let folder: string;
  let lab: Lab;
  let binary: Binary;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kule-binary-"));
    binary = await build("first");
    lab = await startLab({ dataDir: join(folder, "lab") });
  }, 120_000);
  afterAll(async () => {
    await lab?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function build(name: string): Promise<Binary> {
    if (!isArchitecture(arch)) throw new Error(`no binary is built for ${arch}`);
    return buildAgentBinary({ architecture: arch, folder: join(folder, name) });
  }

  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { status, stdout, stderr } = spawnSync(binary.path, args, { env, encoding: "utf8", cwd: "/" });
    return { status, output: stdout + stderr };
  };

  test("is the same, byte by byte, when it is built again in another folder", async () => {
    const second = await build("a folder with a longer name");
    expect(differingBytes(binary, second)).toEqual([]);
    expect(readdirSync(join(folder, "first")).sort()).toEqual([
      basename(binary.path),
      `${basename(binary.path)}.sha256`,
    ]);
    const sum = createHash("sha256").update(readFileSync(binary.path)).digest("hex");
    expect(readFileSync(`${binary.path}.sha256`, "utf8")).toBe(`${sum}  ${basename(binary.path)}\n`);
  });

  test("needs nothing beside itself, and no Node on the machine", () => {
    const alone = join(folder, "alone");
    mkdirSync(alone);
    copyFileSync(binary.path, join(alone, "kule-agent"));
    expect(execFileSync(join(alone, "kule-agent"), ["--version"], { env: {}, encoding: "utf8" })).toMatch(
      /^\d+\.\d+\.\d+\n$/,
    );
  });

  test("loads no other code that its environment names", () => {
    const other = join(folder, "other.cjs");
    writeFileSync(other, 'console.log("other code"); process.exit(0);');
    const { output } = run(["--version"], { NODE_OPTIONS: `--require=${other}`, NODE_PATH: folder });
    expect(output).not.toContain("other code");
    expect(run(["--require", other]).status).toBe(2);
  });

  test("installs itself with the unit and the example that it brings along, and a second time nothing", () => {
    const root = join(folder, "machine");
    expect(run(["install", "--root", root])).toMatchObject({ status: 0 });
    expect(
      execFileSync(join(root, "opt/kule-agent/bin/kule-agent"), ["--version"], { env: {}, encoding: "utf8" }),
    ).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(readFileSync(join(root, "etc/systemd/system/kule-agent.service"), "utf8")).toContain(
      "ExecStart=/opt/kule-agent/bin/kule-agent run /etc/kule/region.yaml\n",
    );
    expect(readFileSync(join(root, "etc/kule/region.yaml"), "utf8")).toContain("region: ist1\n");
    expect(run(["install", "--root", root]).output).toContain("everything is installed");
  });

  test("reaches a hypervisor whose certificate is pinned, and says what is wrong with the rest", async () => {
    const region = join(folder, "region.yaml");
    writeFileSync(region, renderLabRegionFile("http://127.0.0.1:9/api/v1", lab));
    const { status, output } = await end(binary.path, ["check", region], environment(folder, lab));
    expect(output).toMatch(/^ok {6}hypervisor: version {2,}Proxmox VE 9/m);
    expect(output).toMatch(/^ok {6}hypervisor: template ubuntu-24\.04/m);
    expect(output).toMatch(/^WRONG {3}control plane .*127\.0\.0\.1:9/m);
    expect(status).toBe(1);
  });

  test.skipIf(ssh.missing)("reaches an edge over SSH", async () => {
    const sshd = await startSshd();
    try {
      const region = join(folder, "edge.yaml");
      const edge = {
        host: "127.0.0.1",
        port: sshd.port,
        user: "root",
        host_key: sshd.hostKey,
        key_file: sshd.keyFile,
      };
      writeFileSync(region, renderLabRegionFile("http://127.0.0.1:9/api/v1", lab, null, edge));
      const { output } = await end(binary.path, ["check", region], environment(folder, lab));
      // It has listed the interfaces there, and they are this machine's.
      expect(output).toMatch(/^WRONG {3}edge {2,}has no interface vmbr0v10/m);
    } finally {
      await sshd.end();
    }
  });
});

const environment = (folder: string, lab: Lab) => ({
  KULE_AGENT_TOKEN: "kule_agent_of_nobody",
  KULE_PVE_TOKEN: `${lab.tokenId}=${lab.tokenSecret}`,
  KULE_AGENT_STATE: join(folder, "state"),
});

/** Not spawnSync: the lab and the server of SSH are in this process. */
function end(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env, cwd: "/" }, (_, stdout, stderr) =>
      resolve({ status: child.exitCode, output: stdout + stderr }),
    );
  });
}

/** Where two binaries differ: the first places, each with what is there. */
function differingBytes(one: Binary, other: Binary): string[] {
  if (one.sha256 === other.sha256) return [];
  const [a, b] = [readFileSync(one.path), readFileSync(other.path)];
  if (a.length !== b.length) return [`${a.length} bytes and ${b.length}`];
  const places: string[] = [];
  for (let at = 0; at < a.length && places.length < 20; at++)
    if (a[at] !== b[at]) places.push(`${at}: ${a[at]} and ${b[at]}`);
  return places;
}
