import { afterEach, describe, expect, it } from "vitest";
import { ProxmoxClient } from "./client.ts";
import type { EffectContext } from "./hypervisor.ts";
import { renderMarker } from "./marker.ts";
import { ProxmoxHypervisor } from "./proxmox-hypervisor.ts";
import {
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptedServer,
  startScriptedServer,
} from "./testing/scripted-server.ts";
import { virtualRuntime } from "./testing/virtual-runtime.ts";

let pve: ScriptedServer | null = null;
afterEach(() => pve?.stop());

const owner = { serverId: "srv_1", region: "lab1" };
const description = renderMarker({ ...owner, organisationId: "org_1", jobId: "job_1" });
const effect: EffectContext = {
  jobId: "job_test",
  beforeCall: async () => {},
  afterObservation: async () => {},
  answered: async () => {},
  taskStarted: async () => {},
  stillRunning: async () => {},
  note: () => {},
};

const gone = { status: 500, reason: "Configuration file 'nodes/pve1/qemu-server/20001.conf' does not exist" };

/**
 * A cluster whose resource manager carries out a request after some polls, on another node if the test says
 * so.
 */
async function cluster(looksUntilDone: number, then: { node: string; status: string }) {
  let looks = 0;
  let wished = false;
  const now = () =>
    wished && looks >= looksUntilDone
      ? then
      : { node: "pve1", status: then.status === "running" ? "stopped" : "running" };
  const answer = ({ method, path }: ScriptedRequest): ScriptedResponse => {
    if (path === "/cluster/resources")
      return {
        data: [{ type: "qemu", id: "qemu/20001", vmid: 20001, node: now().node, hastate: "started" }],
      };
    if (path.endsWith("/config"))
      return path.includes(now().node) ? { data: { description, digest: "d" } } : gone;
    if (path.endsWith("/status/current")) {
      if (wished) looks += 1;
      return path.includes(now().node) ? { data: { status: now().status, ha: { managed: 1 } } } : gone;
    }
    if (method === "POST") {
      wished = true;
      const type = path.endsWith("/start") ? "hastart" : "hastop";
      return { data: `UPID:pve1:0002B0C4:01A4F2D8:65F0C3A1:${type}:20001:cloud@pve!agent:` };
    }
    return { data: { status: "stopped", exitstatus: "OK" } };
  };
  pve = await startScriptedServer(answer);
  const client = new ProxmoxClient({
    endpoints: [pve.url],
    tokenId: "cloud@pve!agent",
    tokenSecret: "secret-secret",
    tls: { fingerprints: [pve.fingerprint256] },
  });
  return { pve, client, hypervisor: new ProxmoxHypervisor(client, virtualRuntime()) };
}

describe("A VM that the cluster's HA manager controls", () => {
  it("is running only when it runs, not when the wish is recorded, and perhaps on another node", async () => {
    const { pve, client, hypervisor } = await cluster(4, { node: "pve2", status: "running" });
    await hypervisor.start(20001, owner, effect);
    expect(
      pve.asked.filter((asked) => asked.path === "/nodes/pve2/qemu/20001/status/current").length,
    ).toBeGreaterThan(0);
    expect(pve.asked.filter((asked) => asked.method === "POST")).toHaveLength(1);
    client.close();
  });

  it("is stopped without the option to overrule tasks, which HA refuses", async () => {
    const { pve, client, hypervisor } = await cluster(2, { node: "pve1", status: "stopped" });
    await hypervisor.stop(20001, owner, effect);
    expect(pve.asked.find((asked) => asked.method === "POST")?.form.has("overrule-shutdown")).toBe(false);
    client.close();
  });

  it("that is never carried out leaves the outcome unknown", async () => {
    const { client, hypervisor } = await cluster(1_000_000, { node: "pve1", status: "running" });
    await expect(hypervisor.start(20001, owner, effect)).rejects.toMatchObject({
      name: "ProxmoxTaskLost",
      outcome: "unknown",
    });
    client.close();
  });
});
