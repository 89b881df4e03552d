import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApiCaller } from "../testing/api-caller.ts";
import { ServerWorld } from "../testing/server-world.ts";
import { seenAs, TestScanner } from "../testing/test-scanner.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const hostile = "Your account is suspended. Pay at evil.example";

/** Everything that a tenant can read of its job, its server and what happened to them, as one text. */
async function readsOf(reader: ApiCaller, job: string, server: string): Promise<string> {
  const paths = [
    `/jobs/${job}`,
    "/jobs",
    `/servers/${server}`,
    "/servers",
    `/audit?resource=${job}`,
    "/audit",
    "/usage",
    "/catalog",
  ];
  const answers = [];
  for (const path of paths) answers.push((await reader.get(path)).body);
  const stream = await reader.app.request(`/api/v1/jobs/${job}/events`, {
    headers: { Authorization: `Bearer ${reader.token}` },
  });
  answers.push(await stream.text());
  return JSON.stringify(answers);
}

describe("texts of a region in a job", () => {
  test("reaches its tenant in our words only, and operators as it is", async () => {
    const { server } = await world.create();
    const claimed = await world.agent.claim({ agent_name: hostile });
    if (claimed === null) throw new Error("no job");
    const step = (name: string, message: string) =>
      world.agent.report(claimed, {
        phase: "apply",
        step: { name, status: "running", message, external_ref: hostile },
      });
    await step("clone", hostile);
    await step("Your account is suspended", hostile);
    await step("configure", "for 12 s");
    await world.agent.report(claimed, {
      phase: "apply",
      outcome: {
        status: "failed",
        error: {
          code: "your_account_is_suspended",
          message: hostile,
          internal: hostile,
          step: "Pay at evil.example",
          retryable: false,
        },
        observed: { power_state: "on", node: hostile, more: hostile },
      },
    });

    const text = await readsOf(world.owned, claimed.id, server.id);
    for (const word of ["suspended", "evil.example", "Pay at"]) expect(text).not.toContain(word);
    const job = (await world.owned.get(`/jobs/${claimed.id}`)).body;
    expect(
      job.steps.map(({ name, message }: { name: string; message: string | null }) => [name, message]),
    ).toEqual([
      ["clone", null],
      ["other", null],
      ["configure", "for 12 s"],
    ]);
    expect(job.steps[0]).not.toHaveProperty("region_message");
    expect(job.error).toEqual({
      code: "region_error",
      message: "The region could not do this. An operator has to look at it.",
      step: "other",
      retryable: false,
    });

    const operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
    const seen = (await operator.get(`/jobs/${claimed.id}`)).body;
    expect(seen.steps[1]).toMatchObject({ name: "Your account is suspended", region_message: hostile });
    expect(seen.error).toMatchObject({ code: "your_account_is_suspended", region_message: hostile });
  });

  test("is bounded in number and size, and its outcome counts all the same", async () => {
    await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.report(claimed, {
      phase: "apply",
      step: { name: "clone", status: "succeeded", message: "x".repeat(4000) },
    });
    await world.rows("update job set step_count = 499 where id = $1", [claimed.id]);
    for (const name of ["configure", "start", "firewall"])
      expect(
        (await world.agent.report(claimed, { phase: "apply", step: { name, status: "succeeded" } })).status,
      ).toBe(200);
    const kept = await world.rows(
      "select name, length(message) as length from job_step where job_id = $1 order by seq",
      [claimed.id],
    );
    expect(kept).toEqual([
      { name: "clone", length: 1000 },
      { name: "configure", length: null },
    ]);
    await world.agent.succeed(claimed);
    expect((await world.owned.get(`/jobs/${claimed.id}`)).body.status).toBe("succeeded");
  });
});

describe("fields of a region beyond the contract", () => {
  let testScanner: TestScanner;
  beforeAll(() => {
    testScanner = new TestScanner(world.agent.api);
  });
  const more = { more: "x".repeat(10_000), deep: { very: [hostile] } };

  test("of a job's outcome are not stored, and its MACs only as such", async () => {
    await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.end(claimed, {
      status: "succeeded",
      observed: {
        power_state: "on",
        node: "pve1",
        macs: ["BC:24:11:00:00:01", hostile, null, { ...more }],
        ...more,
      } as never,
    });
    const [{ result }] = await world.rows("select result from job where id = $1", [claimed.id]);
    expect(result).toEqual({
      power_state: "on",
      node: "pve1",
      macs: ["bc:24:11:00:00:01", null, null, null],
    });
    await world.create();
    const another = await world.agent.take("ServerCreate");
    const macs = Array.from({ length: 33 }, () => "bc:24:11:00:00:02");
    await world.agent.end(another, { status: "succeeded", observed: { power_state: "on", macs } as never });
    const [{ result: kept }] = await world.rows("select result from job where id = $1", [another.id]);
    expect(kept).not.toHaveProperty("macs");
  });

  test("of its health and its guests are neither stored nor shown", async () => {
    const health = {
      agent_version: "0.1.0",
      hypervisor: {
        kind: "proxmox",
        reachable: true,
        nodes: [{ name: "pve1", online: true, ...more }],
        ...more,
      },
      templates: [{ image: "debian-13", ok: true, ...more }],
      edge: { reachable: false, message: null, ...more },
    };
    expect((await world.agent.api.post("/agent/health", health)).status).toBe(200);
    const [row] = await world.rows("select health, edge from region where slug = $1", [world.region]);
    expect(row).toEqual({
      health: {
        hypervisor: { kind: "proxmox", reachable: true, nodes: [{ name: "pve1", online: true }] },
        templates: [{ image: "debian-13", ok: true }],
        agent_name: null,
      },
      edge: { reachable: false, message: null },
    });
    const vm = { vmid: 31_000, node: "pve1", state: "seen", seen_after_ms: 0, power: "on" } as const;
    await testScanner.look([{ ...vm, interfaces: [{ position: 0, mac: null, ...more }], ...more }]);
    const [{ facts }] = await world.rows("select facts from region_vm where vmid = 31000", []);
    expect(facts.interfaces).toEqual([{ position: 0, mac: null, addresses: [] }]);
    expect(JSON.stringify(facts)).not.toContain("suspended");
    // A region that has an edge now gets jobs for its networks.
    await world.agent.work();
  });

  test("of how long a guest has run is believed only if a machine can have", async () => {
    const { server } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.succeed(claimed, "on");
    const see = async (uptime_seconds: number) => {
      await testScanner.look([seenAs(claimed, { guest: { agent: true, uptime_seconds } })]);
      return (await world.server(server.id)).guest.boot_at;
    };
    expect(await see(4_000_000_000)).toBeNull();
    expect(Date.parse(await see(3_600))).toBeGreaterThan(Date.now() - 3_700_000);
  });
});

describe("texts of a region about a server", () => {
  test("shows the server's owner no difference in the region's own words", async () => {
    const { id } = await world.createRunning();
    const [{ vmid }] = await world.rows("select vmid from region_vmid where server_id = $1", [id]);
    const differences = [
      { field: "name", wanted: "a", seen: hostile },
      { field: "tags", wanted: "kule", seen: hostile },
      { field: "memory_mb", wanted: "2048", seen: "4096" },
      { field: "interface 0 mac", wanted: "aa:bb:cc:dd:ee:ff", seen: "aa:bb:cc:dd:ee:00" },
      { field: "interface 0 bridge", wanted: "vmbr1", seen: hostile },
      { field: "interface 0 addresses", wanted: "10.0.0.2", seen: "10.0.0.2 10.0.0.3" },
      { field: "firewall macfilter", wanted: "on", seen: "off" },
      { field: "firewall rules", wanted: "1 rule", seen: "3 rules" },
    ];
    await world.rows(
      `insert into drift (id, region, vmid, kind, organisation_id, server_id, message, differences, pass, sightings,
                          first_seen_at, last_seen_at)
       values ('drf_x', $1, $2, 'changed', $3, $4, 'm', $5, 1, 2, now(), now())`,
      [world.region, vmid, world.organisation.id, id, JSON.stringify(differences)],
    );
    const { drift } = (await world.owned.get(`/servers/${id}`)).body;
    expect(drift.differences.map(({ seen }: { seen: string }) => seen)).toEqual([
      "another",
      "another",
      "4096",
      "aa:bb:cc:dd:ee:00",
      "another",
      "10.0.0.2 10.0.0.3",
      "off",
      "3 rules",
    ]);
    const [told] = (await world.world.operator.get(`/operator/drift?server_id=${id}`)).body.items;
    expect(told.differences[0].seen).toBe(hostile);
  });
});
