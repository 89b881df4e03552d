// The agent as a process of its own, started as by systemd, in a region made of a lab.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lab, type LabOptions, startLab } from "@kule/lab/lab";
import { type FakeControlPlane, TEST_TOKEN } from "./fake-control-plane.ts";

const MAIN = new URL("../main.ts", import.meta.url).pathname;

export type AgentProcess = {
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly output: string;
  }>;
};

export function startAgent(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): AgentProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  return {
    pid: child.pid ?? -1,
    signal: (signal) => void child.kill(signal),
    ended: once(child, "close").then(([code, signal]) => ({ code, signal, output })),
  };
}

export type LabSite = {
  readonly lab: Lab;
  /** Of the region file. */
  readonly path: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
};

/** A lab, and a region file that describes it to an agent of this control plane. */
export async function startLabSite(
  controlPlane: FakeControlPlane,
  options: Partial<LabOptions> = {},
): Promise<LabSite> {
  const directory = mkdtempSync(join(tmpdir(), "kule-agent-"));
  const lab = await startLab({ dataDir: join(directory, "lab"), ...options });
  const path = join(directory, "region.yaml");
  writeFileSync(
    path,
    `region: lab1
control_plane: ${controlPlane.url}
hypervisor:
  kind: proxmox
  endpoints: [${lab.url}]
  token_env: KULE_PVE_TOKEN
  tls: { fingerprints: ["${lab.fingerprint256}"] }
  vmid_range: 20000-29999
storage: { disks: ceph-vm }
network: { bridge: vmbr1, vlan_range: 100-999 }
templates:
  ubuntu-24.04: { vmid: 9000 }
agent: { health_seconds: 1 }
`,
  );
  return {
    lab,
    path,
    directory,
    environment: {
      KULE_AGENT_TOKEN: TEST_TOKEN,
      KULE_PVE_TOKEN: `${lab.tokenId}=${lab.tokenSecret}`,
    },
    async stop() {
      await lab.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
