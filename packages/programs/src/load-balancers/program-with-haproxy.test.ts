// LoadBalancerApply with the appliance's own scripts and the real haproxy, on this machine instead of in a guest.

import { createServer, get, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import type { Schemas } from "@kule/contract/schemas";
import { systemRuntime } from "@kule/proxmox/runtime";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { World } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { quietHost, SETTINGS, stepsDone } from "../testing/lab-region.ts";
import {
  type LoadBalancerPayload,
  listenerOf,
  newCertificate,
  payloadOf,
} from "../testing/load-balancer-region.ts";
import { applyLoadBalancer } from "./program.ts";
import { askMachine } from "./status/ask-machine.ts";
import { probeHaproxy, TriedAppliance } from "./status/tried-appliance.ts";

const part = await requirePart("haproxy", probeHaproxy, import.meta.filename);
const WAIT = { timeout: 120_000, interval: 200 };

describe.skipIf(part.missing)("A load balancer of the real haproxy", { timeout: 500_000 }, () => {
  let appliance: TriedAppliance;
  let target: Server;
  let port: number;
  /** The answer to a request that has begun and not ended. */
  let open: ServerResponse | undefined;
  beforeAll(async () => {
    appliance = new TriedAppliance();
    target = createServer((request, response) => {
      if (request.url !== "/open") return void response.end("from the target");
      open = response;
      response.writeHead(200).write("x".repeat(50_000));
    });
    await new Promise<void>((done) => target.listen(0, "127.0.0.1", done));
    port = await freePort();
  });
  afterAll(async () => {
    open?.end();
    target.closeAllConnections();
    target.close();
    await appliance.close();
  }, 120_000);

  const machine: Schemas["PayloadMachine"] = {
    slot: 1,
    server_id: "srv_1",
    vmid: 20_000,
    address: "127.0.0.1",
    peer_address: null,
    interface_name: "eth0",
    max_connections: 200,
    has_state: true,
  };

  function payload(generation: number, more: Partial<LoadBalancerPayload> = {}): LoadBalancerPayload {
    const { port: target_port } = target.address() as AddressInfo;
    return payloadOf([machine], {
      generation,
      listeners: [listenerOf("lsn_1", port, { target_port, idle_timeout_seconds: 3_000 })],
      targets: [
        {
          target_id: "tgt_1",
          selected_server_id: null,
          address: "127.0.0.1",
          weight: 1,
          backup: false,
          drain: false,
        },
      ],
      ...more,
    });
  }

  /** Both ways into the guest are its scripts. */
  function world(secret: string): World {
    const inGuest: World["hypervisor"]["lookInGuest"] = (vmid, owner, command, signal) =>
      command.argv[0]?.endsWith("/kule-lb") === true
        ? appliance.call(...command.argv.slice(1))
        : appliance.guest.hypervisor.runInGuest(vmid, owner, command, { signal } as never);
    const hypervisor = {
      lookInGuest: inGuest,
      runInGuest: (...[vmid, owner, command, effect]: Parameters<World["hypervisor"]["runInGuest"]>) =>
        inGuest(vmid, owner, command, effect.signal),
    } as World["hypervisor"];
    return { hypervisor, runtime: systemRuntime, settings: SETTINGS, edge: null, openSecret: () => secret };
  }

  async function apply(wanted: LoadBalancerPayload, secret = "") {
    const host = quietHost();
    const observed = await runProgram(
      applyLoadBalancer,
      { id: "job_1", payload: wanted },
      world(secret),
      host,
    );
    return { observed, steps: stepsDone(host.events) };
  }

  const status = () =>
    askMachine(
      world("").hypervisor,
      { vmid: machine.vmid, owner: { serverId: machine.server_id, region: "lab1" } },
      new Map([["lsn_1", new Set(["tgt_1"])]]),
    );
  const answer = () =>
    new Promise<number>((done) => {
      get({ host: "127.0.0.1", port, agent: false }, (response) => {
        response.resume();
        response.once("end", () => done(response.statusCode ?? 0));
      }).once("error", () => done(0));
    });

  test("serves what its job has put there, after the target's first checks have succeeded", async () => {
    const { observed, steps } = await apply(payload(1));
    expect(steps).toEqual(["put-state"]);
    expect(observed.load_balancer?.machines).toEqual([
      { slot: 1, outcome: "applied", generation: 1, role: null },
    ]);
    await expect.poll(answer, WAIT).toBe(200);
    await expect.poll(async () => (await status())?.targets[0]?.status, WAIT).toBe("UP");
    expect(await status()).toMatchObject({ generation: 1, failedReloads: 0 });
    expect((await apply(payload(1))).steps).toEqual([]);
  });

  test("goes on serving when the next state is refused, whose reason operators are told", async () => {
    const { chain, key } = newCertificate();
    const https = listenerOf("lsn_2", await freePort(), {
      protocol: "https",
      certificates: [{ id: "cert_1", domain_names: ["www.example.com"] }],
    });
    const wrong = payload(2, {
      listeners: [...payload(2).listeners, https],
      certificates: [{ id: "cert_1", chain, sealed: "sealed", context: "cert_1:1" }],
    });
    await expect(apply(wrong, newCertificate().key)).rejects.toMatchObject({
      facts: { code: "configuration_refused", internal: expect.stringMatching(/inconsistencies between/) },
    });
    expect(await answer()).toBe(200);
    const right = await apply({ ...wrong, generation: 3 }, key);
    expect(right.observed.load_balancer?.machines).toMatchObject([{ outcome: "applied", generation: 3 }]);
    await expect.poll(answer, WAIT).toBe(200);
  });

  test("counts the bytes of a connection while it is open", async () => {
    const before = (await status())?.listeners[0]?.bytesOut ?? 0;
    const request = get({ host: "127.0.0.1", port, path: "/open", agent: false }, (response) =>
      response.resume(),
    );
    request.on("error", () => {});
    await expect
      .poll(async () => ((await status())?.listeners[0]?.bytesOut ?? 0) - before, WAIT)
      .toBeGreaterThan(50_000);
    request.destroy();
  });
});

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
