import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { PayloadOf } from "@kule/contract/schemas";
import { runJob } from "@kule/programs/registry";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { systemRuntime } from "@kule/proxmox/runtime";
import { renderLabRegionFile } from "@kule/testing/lab-region-file";
import { answeredRequests, type Installation, ownerClient } from "./installation.ts";
import { HttpClients } from "./load.ts";
import { made } from "./organisations.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

type Lab = { url: string; fingerprint256: string; token: string };

/**
 * From POST to `succeeded`, with a lab whose tasks take no time, compared with the calls that the job has to
 * make: the same program in this process, without claims and reports.
 */
export async function endToEndRows(installation: Installation, count: number): Promise<Row[]> {
  const directory = mkdtempSync(path.join(tmpdir(), "kule-bench-lab-"));
  const labDirectory = path.join(directory, "lab");
  await installation.run(
    ["packages/lab/dist/main.js"],
    { KULE_LAB_DIR: labDirectory, KULE_LAB_PORT: "0", KULE_LAB_TIME_SCALE: "0" },
    '"ready":true',
  );
  const lab = JSON.parse(readFileSync(path.join(labDirectory, "lab.json"), "utf8")) as Lab;
  const floor = await programAlone(lab, count);

  const regionFile = path.join(directory, "region.yaml");
  writeFileSync(regionFile, renderLabRegionFile(installation.api.url, lab));
  const agent = await installation.run(["apps/agent/dist/main.js", "run", regionFile], {
    KULE_AGENT_TOKEN: installation.agentToken,
    KULE_PVE_TOKEN: lab.token,
    KULE_AGENT_STATE: path.join(directory, "agent"),
    KULE_LOG_LEVEL: "error",
  });
  const clients = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.organisationToken}`,
  });
  const jobs: string[] = [];
  const reportsBefore = await answeredRequests(installation, "reportStep");
  for (let turn = 0; turn < count; turn += 1) {
    const body = { name: `end-to-end-${turn}`, region: "lab1", image: "ubuntu-24.04", package: "s" };
    const { job } = await made<{ job: { id: string } }>(clients, "/servers", body);
    for (;;) {
      const answer = JSON.parse((await clients.send("GET", `/jobs/${job.id}?wait=10`)).body) as {
        done: boolean;
        status: string;
      };
      if (!answer.done) continue;
      if (answer.status !== "succeeded") throw new Error(`job ${job.id} ended ${answer.status}`);
      break;
    }
    jobs.push(job.id);
  }
  const reports = ((await answeredRequests(installation, "reportStep")) - reportsBefore) / count;
  agent.kill("SIGTERM");
  clients.close();
  const owner = await ownerClient(installation);
  const { rows } = await owner.query<{ ms: string }>(
    "select extract(epoch from finished_at - created_at) * 1000 ms from job where id = any ($1)",
    [jobs],
  );
  await owner.end();
  rmSync(directory, { recursive: true, force: true });
  // The first create also creates the organisation's pool.
  const ours = median(rows.map(({ ms }) => Number(ms)));
  return [
    {
      what: "POST → succeeded, lab without task time",
      ours: `p50 ${ours.toFixed(0)} ms`,
      floor: `p50 ${floor.toFixed(0)} ms its hypervisor calls`,
      ratio: (ours / floor).toFixed(2),
      aim: "≤ 2.00",
      reached: ours / floor <= 2,
    },
    {
      what: "reports of a ServerCreate",
      ours: reports.toFixed(1),
      floor: "–",
      ratio: "–",
      aim: "≤ 11",
      reached: reports > 0 && reports <= 11,
    },
  ];
}

async function programAlone(lab: Lab, count: number): Promise<number> {
  const equals = lab.token.indexOf("=");
  const client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.token.slice(0, equals),
    tokenSecret: lab.token.slice(equals + 1),
    tls: { fingerprints: [lab.fingerprint256] },
  });
  const world = {
    hypervisor: new ProxmoxHypervisor(client, systemRuntime),
    settings: {
      region: "lab1",
      poolPrefix: "kule",
      diskStorage: "ceph-vm",
      fullClone: true,
      bridge: "vmbr1",
      firewallRoundMs: 0,
      publicNetwork: null,
      templates: { "ubuntu-24.04": { vmid: 9000 } },
      targetNodes: null,
    },
    runtime: systemRuntime,
    edge: null,
    openSecret: () => "",
  };
  const host = { report: async () => {}, lease: { remainingFraction: () => 1 } };
  const samples: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const begin = performance.now();
    await runJob({ id: `job_floor${turn}`, payload: payload(50_000 + turn) }, world, host);
    samples.push(performance.now() - begin);
  }
  client.close();
  return median(samples);
}

function payload(vmid: number): PayloadOf<"ServerCreate"> {
  return {
    kind: "ServerCreate",
    server: { id: `srv_floor${vmid}`, organisation_id: "org_floor", name: `floor-${vmid}` },
    vmid,
    pool: "kule-org_floor",
    tags: ["kule", "org_floor", `srv_floor${vmid}`],
    template: "ubuntu-24.04",
    os_family: "linux",
    default_user: "ubuntu",
    package: { slug: "s", vcpu: 1, memory_mb: 2048, disk_gb: 40 },
    interfaces: [
      {
        id: `nic_floor${vmid}`,
        mac: `0a:4b:00:00:${(vmid >> 8).toString(16).padStart(2, "0")}:${(vmid & 255).toString(16).padStart(2, "0")}`,
        vlan: 998,
        address: "10.9.0.9",
        prefix_length: 24,
        gateway: "10.9.0.1",
        dns_servers: ["9.9.9.9"],
        search_domain: "bench.internal",
      },
    ],
    ssh_public_keys: [],
    password_hash: null,
    sealed_password: null,
    start: true,
    egress: false,
  };
}
