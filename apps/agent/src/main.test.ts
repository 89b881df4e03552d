import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createJob } from "@kule/programs/testing/lab-region";
import { publicKeyOf } from "@kule/sealed-secret/sealed-secret";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, type LabSite, startAgent, startLabSite } from "./testing/agent-process.ts";
import { FakeControlPlane, type FakeJob, TEST_TOKEN } from "./testing/fake-control-plane.ts";

let fake: FakeControlPlane;
let site: LabSite;
/** Its tasks take as long as real ones: something can be running when the agent is stopped. */
let slowSite: LabSite;
let agents: AgentProcess[] = [];

beforeAll(async () => {
  fake = await FakeControlPlane.start();
  site = await startLabSite(fake);
  slowSite = await startLabSite(fake, { timeScale: 1 });
});
afterEach(async () => {
  for (const agent of agents) agent.signal("SIGKILL");
  await Promise.all(agents.map((agent) => agent.ended));
  agents = [];
  fake.jobs.clear();
  fake.health.length = 0;
  fake.requests.length = 0;
  fake.onReport = () => {};
  Object.assign(fake, { region: "lab1", actor: "agent", failWith: null, clockSkewMs: 0 });
});
afterAll(async () => {
  await site.stop();
  await slowSite.stop();
  await fake.stop();
});

function agent(
  command: "run" | "check",
  where: LabSite,
  environment: Record<string, string> = {},
): AgentProcess {
  const started = startAgent([command, where.path], { ...where.environment, ...environment });
  agents.push(started);
  return started;
}

const clonesOf = (where: LabSite, vmid: number) =>
  where.lab.journal().filter((entry) => entry.vmid === vmid && entry.op === "clone-started").length;

const offerCreate = (vmid: number): FakeJob => {
  const { id, payload } = createJob(vmid, {
    package: { slug: "m", vcpu: 2, memory_mb: 4096, disk_gb: 80 },
  });
  return fake.offer(id, payload);
};

describe("kule-agent run", () => {
  it("creates a server in its region and reports the region's health", async () => {
    const job = offerCreate(20_001);
    agent("run", site);
    await fake.until(() => job.outcome !== null);
    expect(job.outcome).toMatchObject({ status: "succeeded", observed: { power_state: "on" } });
    expect(site.lab.control.vm(20_001)?.config.name).toBe("web-20001");

    await fake.until(() => fake.health.length >= 2);
    const privateKey = readFileSync(join(site.directory, ".kule-agent/sealing-key"), "utf8").trim();
    expect(fake.health[0]).toMatchObject({
      agent_version: "0.1.0",
      hypervisor: { kind: "proxmox", reachable: true, version: expect.stringMatching(/^9\./) },
      templates: [{ image: "ubuntu-24.04", ok: true }],
      public_key: publicKeyOf(privateKey),
    });
    expect(fake.health[1]?.public_key).toBe(fake.health[0]?.public_key);
    expect(statSync(join(site.directory, ".kule-agent/sealing-key")).mode & 0o777).toBe(0o600);
    expect(statSync(join(site.directory, ".kule-agent")).mode & 0o777).toBe(0o700);
  });

  it("releases its job on SIGTERM within ten seconds, and the next agent continues it", async () => {
    const job = offerCreate(20_002);
    const first = agent("run", slowSite);
    await fake.until(() => job.reports.some(({ step }) => step?.external_ref?.includes(":qmclone:")));
    const askedAt = performance.now();
    first.signal("SIGTERM");
    const { code, output } = await first.ended;
    expect(code).toBe(0);
    expect(performance.now() - askedAt).toBeLessThan(8_000);
    expect(job.outcome).toEqual({ status: "released" });
    expect(output).toContain('"msg":"agent stopped"');

    job.outcome = null;
    fake.takeAway(job);
    agent("run", slowSite);
    await fake.until(() => job.outcome !== null, 40_000);
    expect(job.outcome).toMatchObject({ status: "succeeded" });
    expect(clonesOf(slowSite, 20_002)).toBe(1);
  }, 60_000);

  it("ends at once on the second signal", async () => {
    const job = offerCreate(20_003);
    const { promise: never } = Promise.withResolvers<void>();
    fake.onReport = () => never;
    const stuck = agent("run", slowSite);
    await fake.until(() => fake.jobs.get(job.id)?.reports.length === 1);
    stuck.signal("SIGTERM");
    await fake.until(() => fake.requestsTo("/claim").at(-1)?.body.wait_seconds === 0);
    stuck.signal("SIGTERM");
    expect(await stuck.ended).toMatchObject({ code: 143 });
  });

  it("runs what waits to its end with --once, reports health, and ends", async () => {
    const jobs = [20_007, 20_008].map((vmid) => offerCreate(vmid));
    const { code, output } = await startAgent(["run", site.path, "--once"], site.environment).ended;
    expect(code).toBe(0);
    expect(jobs.map((job) => job.outcome?.status)).toEqual(["succeeded", "succeeded"]);
    expect(fake.health.length).toBe(1);
    expect(output).toContain("no job is left");
  });

  it("does not wait with --once for a control plane that is away", async () => {
    fake.failWith = 503;
    const { code, output } = await startAgent(["run", site.path, "--once"], site.environment).ended;
    expect(code).toBe(1);
    expect(output).toContain("the control plane does not answer");
  });

  it("shows what it does to kule-agent status, and that it was stopped", async () => {
    const job = offerCreate(20_009);
    const working = agent("run", slowSite);
    const status = () => startAgent(["status", "--state", join(slowSite.directory, ".kule-agent")]).ended;
    await fake.until(() => job.reports.some(({ step }) => step?.external_ref?.includes(":qmclone:")));
    const shown = await status();
    expect(shown.code).toBe(0);
    expect(shown.output).toMatch(new RegExp(`^state +works, process ${working.pid}, `, "m"));
    expect(shown.output).toMatch(new RegExp(`^last claim +\\d+ s ago: ServerCreate ${job.id}$`, "m"));
    working.signal("SIGTERM");
    await working.ended;
    expect(await status()).toMatchObject({ code: 3, output: expect.stringContaining("was stopped") });
  });

  it("runs nothing when its token is of another region", async () => {
    fake.region = "ist1";
    const job = offerCreate(20_004);
    const { code, output } = await agent("run", site).ended;
    expect(code).toBe(78);
    expect(output).toContain("the token is of region ist1, the region file describes lab1");
    expect(job.holder).toBeNull();
  });

  it("never writes a secret into its log", async () => {
    const job = offerCreate(20_005);
    const talking = agent("run", site, { KULE_LOG_LEVEL: "trace" });
    await fake.until(() => job.outcome !== null);
    talking.signal("SIGTERM");
    const { output } = await talking.ended;
    expect(output).toContain("hypervisor call");
    for (const secret of [TEST_TOKEN, site.lab.tokenSecret, "$6$rounds=5000$abcdefgh"])
      expect(output).not.toContain(secret);
  });

  it("says what is wrong with its configuration and does not start", async () => {
    const { KULE_PVE_TOKEN: _, ...others } = site.environment;
    const { code, output } = await startAgent(["run", site.path], others).ended;
    expect(code).toBe(78);
    expect(output).toMatch(
      /region\.yaml:6:14: hypervisor\.token_env: .*KULE_PVE_TOKEN is not set\n {4}fix: /,
    );
    const odd = await agent("run", site, { KULE_AGENT_CONCURRENCY: "many" }).ended;
    expect(odd).toMatchObject({
      code: 78,
      output: "KULE_AGENT_CONCURRENCY must be a whole number between 1 and 64\n",
    });
  });

  it("can be killed at a named crash point by a test build, and by no other", async () => {
    const crash = { BATTERY_CRASH: "agent.claim.reply-read@1" };
    const job = offerCreate(20_006);
    const killed = await agent("run", site, { ...crash, KULE_TEST_BUILD: "1" }).ended;
    expect(killed.signal).toBe("SIGKILL");
    expect(job.holder).not.toBeNull();
    expect(job.reports).toEqual([]);

    fake.takeAway(job);
    agent("run", site, crash);
    await fake.until(() => job.outcome !== null);
    expect(job.outcome?.status).toBe("succeeded");
  });
});

describe("kule-agent check", () => {
  it("finds a good region ready", async () => {
    const { code, output } = await agent("check", site).ended;
    expect(output).toMatch(/^ok {6}agent token {2,}of region lab1$/m);
    expect(output).toMatch(/^ok {6}clock {2,}in step$/m);
    expect(output).toMatch(/^ok {6}hypervisor: version {2,}Proxmox VE 9/m);
    expect(output).toMatch(/^ok {6}hypervisor: template ubuntu-24\.04/m);
    expect(output).toMatch(/\nready: \d+ checks/);
    expect(output).not.toMatch(/^WRONG/m);
    expect(code).toBe(0);
  });

  it("names what is wrong with a fix, and fails", async () => {
    fake.region = "ist1";
    fake.clockSkewMs = 3_600_000;
    const wrongSecret = `${site.lab.tokenId}=00000000-0000-4000-8000-000000000000`;
    const { code, output } = await agent("check", site, { KULE_PVE_TOKEN: wrongSecret }).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/^WRONG {3}agent token .*region ist1.*\n {10}fix: Use a token of region lab1/m);
    expect(output).toMatch(/^WRONG {3}clock .*(3600|3599) s behind.*\n {10}fix: .*set-ntp/m);
    expect(output).toMatch(/^WRONG {3}hypervisor: version .*401.*\n {10}fix: The API token is wrong/m);
    expect(output).toMatch(/\nnot ready: 3 of \d+ checks wrong/);
    expect(output).not.toContain(wrongSecret);
  });

  it.each([
    {
      what: "a token that is revoked",
      failWith: 401,
      finding: /^WRONG {3}agent token .*\n {10}fix: Mint one with POST \/regions\/lab1\/agent-tokens/m,
    },
    {
      what: "a control plane that is down",
      failWith: 503,
      finding: /^WRONG {3}control plane .*\n {10}fix: Check control_plane/m,
    },
    {
      what: "an address that is not the API's",
      failWith: 404,
      finding: /^WRONG {3}control plane .*\n {10}fix: Check that control_plane is the API's address/m,
    },
  ])("finds $what", async ({ failWith, finding }) => {
    fake.failWith = failWith;
    const { code, output } = await agent("check", site).ended;
    expect(output).toMatch(finding);
    expect(code).toBe(1);
  });

  it("finds an operator's token in the place of an agent's", async () => {
    fake.actor = "operator";
    const { code, output } = await agent("check", site).ended;
    expect(output).toMatch(/^WRONG {3}agent token .*not an agent's but belongs to a operator/m);
    expect(code).toBe(1);
  });

  it("shows everything that is wrong with a region file", async () => {
    const { code, output } = await startAgent(["check", join(site.directory, "absent.yaml")]).ended;
    expect(code).toBe(1);
    expect(output).toMatch(/there is no file .*absent\.yaml\n {4}fix: /);
  });
});

describe("kule-agent", () => {
  it("prints its version and its usage", async () => {
    expect(await startAgent(["--version"]).ended).toMatchObject({ code: 0, output: "0.1.0\n" });
    const help = await startAgent(["--help"]).ended;
    expect(help.code).toBe(0);
    expect(help.output).toMatch(/kule-agent run <region\.yaml>/);
    const install = await startAgent(["install", "--dry-run"]).ended;
    expect(install).toMatchObject({ code: 1, output: expect.stringContaining("npm run agent-binary") });
    for (const args of [[], ["run"], ["walk", "region.yaml"], ["run", "a", "b"], ["--colour"]])
      expect((await startAgent(args).ended).code).toBe(2);
  });
});
