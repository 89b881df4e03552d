// Servers whose guests really boot, through the public API alone: API, worker, agent and lab as processes.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConsoleViewer } from "../console-viewer.ts";
import { IMAGE_TIMEOUT_MS, realGuestRoots, requireRealGuests } from "../real-guests/real-guests-part.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

const part = await requireRealGuests(import.meta.filename);
/** A boot on a busy machine, and what follows. */
const TIMEOUT_MS = 240_000;

describe.skipIf(part.missing)("servers with real guests", { timeout: TIMEOUT_MS }, () => {
  let world: RegionWorld;
  const folder = mkdtempSync(join(tmpdir(), "kule-keys-"));
  const viewers: ConsoleViewer[] = [];
  const servers = new Map<string, Schemas["ServerCreated"]>();

  beforeAll(async () => {
    world = await startRegionWorld({
      leaseSeconds: 20,
      removalBufferSeconds: 3600,
      hasWires: true,
      realGuests: await realGuestRoots(),
    });
    world.startAgent();
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "key")]);
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    for (const viewer of viewers) viewer.socket.terminate();
    await world?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  async function done(client: ApiClient, answer: { data?: unknown; error?: unknown }): Promise<void> {
    const { job } = (answer.data ?? {}) as { job?: { id: string } };
    if (job === undefined) throw new Error(JSON.stringify(answer.error));
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const ended = await world.untilDone(job.id, client).catch((error: unknown) => {
        // A restart waits for the guest's own shutdown.
        if (performance.now() > deadline) throw error;
        return undefined;
      });
      if (ended === undefined) continue;
      expect(ended.status, `${JSON.stringify(ended.error)}\n${world.outputs()}`).toBe("succeeded");
      return;
    }
  }

  /** A network with two subnets, and a server in each of those that are named. */
  async function town(
    client: ApiClient,
    names: Readonly<Record<"app" | "data", string | null>>,
    more: object,
  ) {
    const network = await client.POST("/networks", {
      body: { name: "shop", region: "lab1", cidr: "10.20.0.0/16" },
    });
    const id = network.data?.network.id ?? "";
    const jobs = [];
    for (const [tier, cidr] of [
      ["app", "10.20.1.0/24"],
      ["data", "10.20.2.0/24"],
    ] as const) {
      const made = await client.POST("/networks/{network_id}/subnets", {
        params: { path: { network_id: id } },
        body: { name: tier, tier, cidr },
      });
      const subnet = made.data?.subnet.id;
      if (subnet === undefined) throw new Error(JSON.stringify(made.error));
      const name = names[tier];
      if (name === null) continue;
      const created = await world.createServer(name, client, {
        image: "debian-12",
        subnet_id: subnet,
        ...more,
      });
      servers.set(name, created);
      jobs.push(done(client, { data: created }));
    }
    await Promise.all(jobs);
  }

  async function consoleOf(client: ApiClient, name: string, password: string): Promise<ConsoleViewer> {
    const { data, error } = await client.POST("/servers/{server_id}/console", {
      params: { path: { server_id: servers.get(name)?.server.id ?? "" } },
      body: { type: "serial" },
    });
    if (data === undefined) throw new Error(JSON.stringify(error));
    const viewer = new ConsoleViewer(data, new URL(data.url.replace("ws", "http")).origin, world.outputs);
    viewers.push(viewer);
    await viewer.until(() => viewer.bytes.length > 0);
    // The guest may still boot, and writes to its console meanwhile, also behind a prompt.
    const knocks = setInterval(() => viewer.socket.send(Buffer.from("\r")), 1_000);
    await viewer.line("", /login: /).finally(() => clearInterval(knocks));
    await viewer.line("debian", /Password: /);
    await viewer.line(password, /\$ /);
    // What wraps or colours the output would be in it.
    await viewer.line(
      "export PS1='$ ' TERM=dumb; stty cols 500; cloud-init status --wait",
      /status: done[\s\S]*\$ $/,
    );
    return viewer;
  }

  let front: ConsoleViewer;

  test("let their account in at the serial console with the password that was shown once", async () => {
    await town(world.organisation, { app: "front", data: null }, {});
    const password = servers.get("front")?.console_password ?? "";
    expect(password).not.toBe("");
    front = await consoleOf(world.organisation, "front", password);
    expect(await front.line("hostname; sudo id -u", /\n0\r\n\$ $/)).toContain("front");
  });

  test("reach each other by ssh with the key that was chosen, from one subnet to another", async () => {
    const publicKey = readFileSync(join(folder, "key.pub"), "utf8").trim();
    const key = await world.organisation.POST("/ssh-keys", {
      body: { name: "laptop", public_key: publicKey },
    });
    const networks = await world.organisation.GET("/networks", {});
    const network = networks.data?.items.find(({ name }) => name === "shop")?.id ?? "";
    const subnets = await world.organisation.GET("/networks/{network_id}/subnets", {
      params: { path: { network_id: network } },
    });
    const data = subnets.data?.items.find(({ name }) => name === "data")?.id ?? "";
    const back = await world.createServer("back", world.organisation, {
      image: "debian-12",
      subnet_id: data,
      ssh_key_ids: [key.data?.id ?? ""],
    });
    servers.set("back", back);
    await done(world.organisation, { data: back });
    const privateKey = readFileSync(join(folder, "key"), "utf8").trim().split("\n");
    await front.line("install -m 600 /dev/null key", /\$ $/);
    for (const line of privateKey) await front.line(`echo '${line}' >> key`, /\$ $/);
    const ssh =
      "ssh -o StrictHostKeyChecking=no -o BatchMode=yes -o ConnectTimeout=5 -i key debian@10.20.2.2";
    await front.line(`until ${ssh} true 2>/dev/null; do sleep 1; done; echo up`, /\nup\r\n\$ $/);
    expect(await front.line(`${ssh} 'hostname; id -un' 2>/dev/null`, /\ndebian\r\n[\s\S]*\$ $/)).toContain(
      "back",
    );
    expect(await front.line("ping -c 1 10.20.2.2", /packet loss[\s\S]*\$ $/)).toMatch(
      /ttl=63[\s\S]* 0% packet loss/,
    );
  });

  test("are not there for another organisation, whatever its addresses", async () => {
    const operator = await world.newOrganisation("neighbour");
    // What is inside of a server is not for operators.
    const owner = await operator.POST("/tokens", {
      body: { name: "owner", role: "owner", reason: "opens a console" },
    });
    const neighbour = createApiClient({
      baseUrl: world.apiUrl,
      token: owner.data?.secret ?? "",
      readRetries: 0,
    });
    await town(neighbour, { app: "near", data: null }, {});
    const near = await consoleOf(neighbour, "near", servers.get("near")?.console_password ?? "");
    for (const address of ["10.20.2.2", "10.20.1.3"])
      expect(await near.line(`ping -c 1 -W 2 ${address}`, /packet loss[\s\S]*\$ $/)).toContain(
        "100% packet loss",
      );
    // Its own address is the first organisation's as well; each reaches itself.
    expect(await near.line("ping -c 1 10.20.1.2", /packet loss[\s\S]*\$ $/)).toContain(" 0% packet loss");
    expect(
      await near.line("timeout 2 bash -c '</dev/tcp/10.20.2.2/22' || echo closed", /closed\r\n\$ $/),
    ).toBeTruthy();
    near.socket.terminate();
  });

  test("see their new memory and disk after a resize", async () => {
    const sizes = async (viewer: ConsoleViewer) => {
      const said = await viewer.line(
        "echo size $(free -m | awk '/Mem:/ {print $2}') $(df -BG --output=size / | tail -1)",
        /\nsize \d+ \d+G\r\n\$ $/,
      );
      const [, memory, disk] = /\nsize (\d+) (\d+)G/.exec(said) ?? [];
      return { memoryMb: Number(memory), diskGb: Number(disk) };
    };
    const before = await sizes(front);
    const id = servers.get("front")?.server.id ?? "";
    const resized = await world.organisation.POST("/servers/{server_id}/resize", {
      params: { path: { server_id: id } },
      body: { package: "m", allow_restart: true, grow_disk: true },
    });
    await done(world.organisation, resized);
    front.socket.terminate();
    front = await consoleOf(world.organisation, "front", servers.get("front")?.console_password ?? "");
    const after = await sizes(front);
    const { data } = await world.organisation.GET("/servers/{server_id}", {
      params: { path: { server_id: id } },
    });
    expect(after.memoryMb).toBe(data?.package.memory_mb);
    expect(after.memoryMb).toBeGreaterThan(before.memoryMb);
    expect(after.diskGb).toBeGreaterThan(before.diskGb);
  });
});
