import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { made } from "../../testing/proofs/tenant.ts";
import { RolloutWorld } from "../../testing/rollout-world.ts";
import { cleanUp } from "../../worker/clean-up.ts";

let world: RolloutWorld;
beforeAll(async () => {
  world = await RolloutWorld.open();
});
afterAll(() => world?.close());
beforeEach(() => world.clear());

const operator = () => world.api.operator;
const audit = async (action: string) => {
  const { items } = made(await operator().get(`/audit?action=${action}`));
  return items as { resource: string; actor: { type: string }; details: Record<string, unknown> }[];
};

describe("the settings of updates", () => {
  test("offer updates at any time, one region first and five at once, and nothing by itself", async () => {
    const { status, body, headers } = await operator().get("/agent-updates");
    expect([status, headers.get("etag")]).toEqual([200, '"g1"']);
    expect(body).toMatchObject({
      ...{ channel: "stable", window: null, paused: false },
      ...{ wait_minutes: 60, max_at_once: 5, automatic: false },
    });
  });

  test("are changed one by one, and only as they were seen", async () => {
    const window = { days: ["mon", "sat"], from_time: "22:00", to_time: "04:00" };
    const changed = await operator().patch(
      "/agent-updates",
      { window, max_at_once: 2 },
      { "If-Match": '"g1"' },
    );
    expect(changed.body).toMatchObject({ window, max_at_once: 2, wait_minutes: 60, generation: 2 });
    const late = await operator().patch("/agent-updates", { paused: true }, { "If-Match": '"g1"' });
    expect(late.status).toBe(412);
    expect(made(await operator().patch("/agent-updates", { window: null })).window).toBe(null);
    expect(await audit("agent_updates.update")).not.toHaveLength(0);
  });

  test.each([
    ["no day", { window: { days: [], from_time: "22:00", to_time: "04:00" } }, "/window/days"],
    [
      "a day twice",
      { window: { days: ["mon", "mon"], from_time: "22:00", to_time: "04:00" } },
      "/window/days/0",
    ],
    [
      "no time of day",
      { window: { days: ["mon"], from_time: "24:00", to_time: "04:00" } },
      "/window/from_time",
    ],
    ["no regions at once", { max_at_once: 0 }, "/max_at_once"],
    ["no wait", { wait_minutes: -1 }, "/wait_minutes"],
    ["an unknown channel", { channel: "nightly" }, "/channel"],
  ])("with %s are refused", async (_what, body, pointer) => {
    const { status, body: problem } = await operator().patch("/agent-updates", body);
    expect(status).toBe(422);
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  });
});

describe("the releases", () => {
  test("are listed with their files, the newest first", async () => {
    const { body } = await operator().get("/agent-releases");
    expect(body).toMatchObject({
      configured: true,
      read_at: expect.any(String),
      problems: [],
      releases: [
        {
          ...{ version: "1.4.0", channel: "stable", expired: false, rollback_to: false },
          files: [
            { architecture: "x64", size_bytes: 100_000, problem: null },
            { architecture: "arm64", problem: null },
          ],
        },
        { version: "1.3.0" },
      ],
    });
  });

  test("of an installation without a folder are none, and no rollout starts", async () => {
    const { app } = await world.api.addReplica({ agentReleases: null });
    const at = operator().at(app);
    expect((await at.get("/agent-releases")).body).toEqual({
      ...{ configured: false, read_at: null, releases: [], problems: [] },
    });
    const refused = await at.post("/agent-rollouts", { version: "1.4.0" });
    expect([refused.status, refused.body.precondition.name]).toEqual([409, "agent_releases_configured"]);
  });
});

describe("a rollout over three regions", () => {
  test("updates one, waits, and then updates the others", async () => {
    const id = await world.start({ first_region: "b" });
    expect(await world.report("b")).toBe(null);
    await world.step();
    expect(await world.states(id)).toEqual({ b: "offered", a: "waiting", c: "waiting" });
    expect([await world.report("b"), await world.report("a")]).toEqual(["1.4.0", null]);

    // The agent is at it, and says so; then it runs the version, and has not proven it yet.
    await world.report("b", { update: world.updateTo("draining") });
    await world.step();
    await world.report("b", { agent_version: "1.4.0", update: world.updateTo("swapped") });
    await world.step();
    expect((await world.states(id)).b).toBe("offered");
    expect((await world.rollout(id)).waits_for).toBe("regions");

    expect(await world.updated("b")).toBe(null);
    await world.step();
    expect(await world.rollout(id)).toMatchObject({ status: "running", waits_for: "time" });
    await world.pass(59);
    await world.step();
    expect(await world.states(id)).toEqual({ b: "updated", a: "waiting", c: "waiting" });
    await world.pass(1);
    await world.step();
    expect(await world.states(id)).toEqual({ b: "updated", a: "offered", c: "offered" });

    for (const slug of ["a", "c"]) await world.updated(slug);
    await world.step();
    const ended = await world.rollout(id);
    expect(ended).toMatchObject({
      ...{ status: "done", reason: null, waits_for: null, ended_at: expect.any(String) },
      regions_count: { waiting: 0, offered: 0, updated: 3, failed: 0, skipped: 0 },
    });
    expect(ended.regions?.[0]).toMatchObject({
      region: "b",
      agents: [{ name: "agent-b", version: "1.4.0", update: { state: "done" } }],
    });
    expect(await audit("agent_rollout.end")).toContainEqual(
      expect.objectContaining({ resource: id, actor: expect.objectContaining({ type: "system" }) }),
    );
    // Nothing is offered when it is over, also to an agent that is older again.
    expect(await world.report("a")).toBe(null);
  });

  test("begins with the region that has the fewest servers", async () => {
    await world.jobs("a", ["succeeded"]);
    const { first_region: first, regions } = await world.rollout(await world.start());
    expect(first).toBe("b");
    expect(regions?.map(({ region }) => region)).toEqual(["b", "c", "a"]);
  });

  test("updates as many at once as the settings say", async () => {
    await world.set({ max_at_once: 1, wait_minutes: 0 });
    const id = await world.start({ first_region: "a" });
    await world.step();
    await world.updated("a");
    await world.step();
    expect(await world.states(id)).toEqual({ a: "updated", b: "offered", c: "waiting" });
    await world.step();
    expect((await world.states(id)).c).toBe("waiting");
    await world.updated("b");
    await world.step();
    expect((await world.states(id)).c).toBe("offered");
  });

  test("waits for every agent of a region that reports", async () => {
    const id = await world.start({ first_region: "a" });
    await world.report("a", { agent_name: "second" });
    await world.step();
    await world.updated("a");
    await world.step();
    expect((await world.states(id)).a).toBe("offered");
    expect(await world.report("a", { agent_name: "second" })).toBe("1.4.0");
    await world.report("a", { agent_name: "second", agent_version: "1.4.0" });
    await world.step();
    expect((await world.states(id)).a).toBe("updated");
  });

  test("offers nothing outside of the window", async () => {
    const yesterday = new Date(Date.now() - 36 * 3_600_000).toLocaleDateString("en", {
      weekday: "short",
      timeZone: "UTC",
    });
    const window = { days: [yesterday.toLowerCase()], from_time: "00:00", to_time: "00:01" };
    await world.set({ window });
    const id = await world.start();
    await world.step();
    expect(await world.rollout(id)).toMatchObject({
      ...{ waits_for: "window", waits_until: expect.stringMatching(/T00:00:00.000Z$/) },
      regions_count: { waiting: 3 },
    });
    await world.set({ window: null });
    await world.step();
    expect((await world.rollout(id)).regions_count.offered).toBe(1);
  });

  test("skips regions whose agents cannot be updated, and says why", async () => {
    await world.report("a", { can_update: false });
    await world.updated("b", "1.5.0");
    await world.updated("c");
    const id = await world.start();
    expect((await world.rollout(id)).first_region).toBe(null);
    await world.step();
    expect(await world.rollout(id)).toMatchObject({
      status: "done",
      regions: expect.arrayContaining([
        expect.objectContaining({
          region: "a",
          state: "skipped",
          reason: "agent agent-a cannot update itself",
        }),
        expect.objectContaining({
          region: "b",
          state: "skipped",
          reason: "agent agent-b runs 1.5.0, which is newer",
        }),
        expect.objectContaining({
          region: "c",
          state: "skipped",
          reason: "its agents run the version already",
        }),
      ]),
    });
  });
});

describe("a rollout stops", () => {
  const begun = async () => {
    const id = await world.start({ first_region: "a" });
    await world.step();
    return id;
  };
  const stopped = async (id: string, reason: string | RegExp) => {
    await world.step();
    const rollout = await world.rollout(id);
    expect(rollout).toMatchObject({ status: "stopped", ended_at: null });
    expect(rollout.reason).toMatch(reason);
    // Its offers are withdrawn.
    expect([await world.report("a"), await world.report("b")]).toEqual([null, null]);
    expect(await world.states(id)).toEqual({ a: "failed", b: "waiting", c: "waiting" });
    expect(await audit("agent_rollout.stop")).toContainEqual(expect.objectContaining({ resource: id }));
  };

  test.each([
    ["refused", /^Region a: agent agent-a refuses the release: no good$/],
    ["failed", /^Region a: agent agent-a could not update: no good$/],
    ["rolled_back", /^Region a: agent agent-a went back to its old version: no good$/],
  ] as const)("when an agent reports %s", async (state, reason) => {
    const id = await begun();
    await world.report("a", { update: world.updateTo(state, "1.4.0", "no good") });
    await stopped(id, reason);
  });

  test("when an agent goes back after its region had updated", async () => {
    const id = await begun();
    await world.updated("a");
    await world.step();
    expect((await world.states(id)).a).toBe("updated");
    await world.report("a", { update: world.updateTo("rolled_back") });
    await stopped(id, /went back/);
  });

  test("when an offered region is silent for more than five minutes", async () => {
    const id = await begun();
    await world.pass(4, ["a"]);
    await world.step();
    expect((await world.rollout(id)).status).toBe("running");
    await world.pass(2, ["a"]);
    await stopped(id, "Region a: the region has not reported for more than 5 minutes");
  });

  test("when a region is no longer ready", async () => {
    const id = await begun();
    await world.report("a", { ok: false });
    await world.step();
    expect((await world.rollout(id)).status).toBe("running");
    await world.pass(2);
    await stopped(id, /is not ready since the update/);
  });

  test("when more of a region's jobs fail than before", async () => {
    await world.jobs("a", ["succeeded", "succeeded", "failed"]);
    await world.pass(30);
    const id = await begun();
    await world.jobs("a", ["failed", "failed"]);
    await world.step();
    expect((await world.rollout(id)).status).toBe("running");
    // Those of other regions are not its.
    await world.jobs("b", ["failed", "failed", "failed"]);
    await world.step();
    expect((await world.rollout(id)).status).toBe("running");
    await world.jobs("a", ["failed"]);
    await stopped(id, /^Region a: 3 of 3 jobs failed since the update, and 1 of \d before$/);
  });

  test("and withdraws what it offers to the regions beside the one that failed", async () => {
    await world.set({ wait_minutes: 0 });
    const id = await begun();
    await world.updated("a");
    await world.step();
    expect(await world.states(id)).toEqual({ a: "updated", b: "offered", c: "offered" });
    expect(await world.report("c")).toBe("1.4.0");
    await world.report("b", { update: world.updateTo("failed") });
    await world.step();
    expect(await world.states(id)).toEqual({ a: "updated", b: "failed", c: "offered" });
    expect(await world.report("c")).toBe(null);
  });

  test("and goes on with the other regions when an operator resumes it", async () => {
    const id = await begun();
    await world.report("a", { update: world.updateTo("rolled_back") });
    await world.step();
    await world.step();
    expect((await world.rollout(id)).status).toBe("stopped");
    expect((await world.change(id, "resume")).body).toMatchObject({ status: "running", reason: null });
    await world.step();
    const states = await world.states(id);
    expect(Object.values(states).sort()).toEqual(["failed", "offered", "waiting"]);
    const next = states.b === "offered" ? "b" : "c";
    expect([await world.report("a"), await world.report(next)]).toEqual([null, "1.4.0"]);
  });

  test("and an agent that failed in an earlier rollout is given time to try again", async () => {
    await world.report("a", { update: { ...world.updateTo("failed"), at: "2026-01-01T00:00:00Z" } });
    const id = await begun();
    await world.report("a", { update: { ...world.updateTo("failed"), at: "2026-01-01T00:00:00Z" } });
    await world.step();
    expect((await world.rollout(id)).status).toBe("running");
    await world.report("a", { update: world.updateTo("failed") });
    await stopped(id, /could not update/);
  });
});

describe("an operator", () => {
  test("pauses and resumes a rollout; what was offered goes on", async () => {
    await world.set({ wait_minutes: 0 });
    const id = await world.start({ first_region: "a" });
    await world.step();
    expect((await world.change(id, "pause")).body).toMatchObject({ status: "paused", waits_for: null });
    expect(await world.report("a")).toBe("1.4.0");
    await world.updated("a");
    await world.step();
    expect(await world.states(id)).toEqual({ a: "updated", b: "waiting", c: "waiting" });
    expect((await world.rollout(id)).status).toBe("paused");
    await world.change(id, "resume");
    await world.step();
    expect(await world.states(id)).toEqual({ a: "updated", b: "offered", c: "offered" });
  });

  test("pauses all updates in the settings", async () => {
    await world.set({ paused: true });
    const id = await world.start();
    await world.step();
    expect(await world.rollout(id)).toMatchObject({
      waits_for: "paused_settings",
      regions_count: { waiting: 3 },
    });
  });

  test("cancels a rollout, which withdraws its offers", async () => {
    const id = await world.start({ first_region: "a" });
    await world.step();
    expect(await world.report("a")).toBe("1.4.0");
    const cancelled = await world.change(id, "cancel");
    expect(cancelled.body).toMatchObject({ status: "cancelled", ended_at: expect.any(String) });
    expect(await world.report("a")).toBe(null);
    await world.step();
    expect((await world.rollout(id)).status).toBe("cancelled");
    expect((await audit("agent_rollout.cancel"))[0]).toMatchObject({ resource: id });
  });

  test("is refused what the status does not allow", async () => {
    const id = await world.start();
    const refused = async (verb: "pause" | "resume" | "cancel") => {
      const { status, body } = await world.change(id, verb);
      return [status, body.code, body.precondition?.name, body.current_status];
    };
    expect(await refused("resume")).toEqual([409, "invalid_state", "agent_rollout_held", "running"]);
    made(await world.change(id, "pause"));
    expect(await refused("pause")).toEqual([409, "invalid_state", "agent_rollout_running", "paused"]);
    made(await world.change(id, "cancel"));
    expect(await refused("cancel")).toEqual([409, "invalid_state", "agent_rollout_open", "cancelled"]);
    expect((await world.change("rol_06ex2v3m8n4k6q1r5s7t9w0y2z", "pause")).status).toBe(404);
  });

  test("starts one rollout at a time, of a release that there is", async () => {
    const id = await world.start();
    const second = await operator().post("/agent-rollouts", { version: "1.4.0" });
    expect(second.body).toMatchObject({
      status: 409,
      precondition: {
        name: "no_agent_rollout_open",
        resource: id,
        fix: `Wait for its end, or POST /agent-rollouts/${id}/cancel`,
      },
    });
    await world.change(id, "cancel");
    for (const [body, pointer] of [
      [{ version: "9.9.9" }, "/version"],
      [{ version: "latest" }, "/version"],
      [{ version: "1.4.0", first_region: "nowhere" }, "/first_region"],
    ] as const) {
      const { status, body: problem } = await operator().post("/agent-rollouts", body);
      expect([status, problem.errors[0].pointer]).toEqual([422, pointer]);
    }
  });

  test("of two at once one starts it", async () => {
    const started = await Promise.all(
      ["a", "b", "c"].map((first) =>
        operator().post("/agent-rollouts", { version: "1.4.0", first_region: first }),
      ),
    );
    expect(started.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test("cannot begin with a region that cannot be updated", async () => {
    await world.report("a", { can_update: false });
    const { status, body } = await operator().post("/agent-rollouts", {
      version: "1.4.0",
      first_region: "a",
    });
    expect([status, body.precondition.name]).toEqual([409, "first_region_updatable"]);
    expect(body.detail).toBe("Region a cannot be the first: agent agent-a cannot update itself");
  });

  test("sees a region's agents and its part in the rollout", async () => {
    const id = await world.start({ first_region: "a" });
    await world.step();
    await world.report("a", { update: world.updateTo("downloading") });
    const { body } = await operator().get("/regions/a");
    expect(body).toMatchObject({
      agents: [
        {
          ...{ name: "agent-a", version: "1.3.0", architecture: "x64", can_update: true },
          update: { version: "1.4.0", state: "downloading", code: null, message: null },
        },
      ],
      rollout: { id, version: "1.4.0", state: "offered" },
    });
    await world.pass(2, ["a"]);
    expect((await operator().get("/regions/a")).body.agents).toEqual([]);
  });

  test("reads the rollouts in pages, the latest first", async () => {
    const ids: string[] = [];
    for (let each = 0; each < 3; each += 1) {
      ids.unshift(await world.start());
      made(await world.change(ids[0] ?? "", "cancel"));
    }
    const first = made(await operator().get("/agent-rollouts?limit=2"));
    const second = made(await operator().get(`/agent-rollouts?limit=2&cursor=${first.next_cursor}`));
    const read = [...first.items, ...second.items] as { id: string; regions?: unknown }[];
    expect(read.map(({ id }) => id)).toEqual(ids);
    expect(read[0]).not.toHaveProperty("regions");
  });
});

describe("rollouts that start by themselves", () => {
  test("are of the newest release of the channel, once", async () => {
    await world.step();
    expect(made(await operator().get("/agent-rollouts")).items).toEqual([]);
    await world.set({ automatic: true });
    await world.step();
    const [rollout] = made(await operator().get("/agent-rollouts")).items;
    expect(rollout).toMatchObject({ version: "1.4.0", automatic: true, status: "running" });
    expect((await world.rollout(rollout.id)).regions_count.offered).toBe(1);
    expect(await audit("agent_rollout.start")).toContainEqual(
      expect.objectContaining({ resource: rollout.id }),
    );
    made(await world.change(rollout.id, "cancel"));
    await world.step();
    expect(made(await operator().get("/agent-rollouts")).items).toHaveLength(1);
  });

  test("start while nothing is paused, and not when every agent is as new", async () => {
    await world.set({ automatic: true, paused: true });
    await world.step();
    await world.set({ paused: false });
    for (const slug of ["a", "b", "c"]) await world.updated(slug);
    await world.step();
    expect(made(await operator().get("/agent-rollouts")).items).toEqual([]);
  });

  test("of two workers at once one starts it", async () => {
    await world.set({ automatic: true });
    const other = await world.api.addReplica({ agentReleases: world.folder.path });
    await other.deps.releases.checked();
    await Promise.all([world.step(), world.step(other), world.step(), world.step(other)]);
    const { items } = made(await operator().get("/agent-rollouts"));
    expect(items).toHaveLength(1);
    expect(items[0].regions_count).toMatchObject({ offered: 1, waiting: 2 });
  });
});

describe("the worker", () => {
  test("of which two run at once takes each step once", async () => {
    await world.set({ wait_minutes: 0, max_at_once: 1 });
    const id = await world.start({ first_region: "a" });
    const other = await world.api.addReplica({ agentReleases: world.folder.path });
    await Promise.all([world.step(), world.step(other), world.step(), world.step(other)]);
    expect(await world.states(id)).toEqual({ a: "offered", b: "waiting", c: "waiting" });
    await world.report("a", { update: world.updateTo("rolled_back") });
    await Promise.all([world.step(), world.step(other), world.step(), world.step(other)]);
    expect((await audit("agent_rollout.stop")).filter(({ resource }) => resource === id)).toHaveLength(1);
  });

  test.each(["before-commit", "committed", "done"])(
    "that is killed at %s has taken the step or not, and the next one goes on",
    async (point) => {
      await world.set({ wait_minutes: 0 });
      const id = await world.start({ first_region: "a" });
      const killed = async () => {
        const crash = (name: string) => {
          if (name === `worker.advance_rollout.${point}`) throw new Error("killed");
        };
        const { deps } = world.api.replica;
        await expect(world.step({ deps: { ...deps, crash: async (name) => crash(name) } })).rejects.toThrow();
      };
      await killed();
      const offered = (await world.states(id)).a;
      expect(offered).toBe(point === "before-commit" ? "waiting" : "offered");
      await world.step();
      expect(await world.states(id)).toEqual({ a: "offered", b: "waiting", c: "waiting" });
      await world.updated("a");
      await killed();
      await world.step();
      expect(await world.states(id)).toEqual({ a: "updated", b: "offered", c: "offered" });
      for (const slug of ["b", "c"]) await world.updated(slug);
      await killed();
      await world.step();
      expect((await world.rollout(id)).status).toBe("done");
      expect((await audit("agent_rollout.end")).filter(({ resource }) => resource === id)).toHaveLength(1);
    },
  );
});

describe("agents", () => {
  test("that are invented under many names take no room, and the region reports all the same", async () => {
    for (let each = 0; each < 25; each += 1) await world.report("a", { agent_name: `name-${each}` });
    const [{ count }] = await world.sql("select count(*)::integer from region_agent where region = 'a'");
    expect(count).toBe(20);
    expect((await operator().get("/regions/a")).body.agent.version).toBe("1.3.0");
  });

  test("are forgotten a day after their last report", async () => {
    await world.sql("update region_agent set reported_at = now() - interval '25 hours' where region = 'a'");
    await cleanUp(world.api.replica.deps.db);
    expect(await world.sql("select region from region_agent order by 1")).toEqual([
      { region: "b" },
      { region: "c" },
    ]);
  });

  test("may say anything of their updates within the contract, and nothing beyond is kept", async () => {
    const update = { ...world.updateTo("failed", "1.4.0", "<b>\u{1f5fc}"), more: "x".repeat(1_000) };
    await world.report("a", { update });
    const [row] = await world.sql("select update_report from region_agent where region = 'a'");
    expect(Object.keys(row.update_report).sort()).toEqual(["at", "code", "message", "state", "version"]);
    const long = { ...update, message: "x".repeat(501) };
    const refused = await world.agentOf("a").post("/agent/health", {
      agent_version: "1.3.0",
      hypervisor: { kind: "proxmox", reachable: true },
      update: long,
    });
    expect(refused.status).toBe(422);
  });
});
