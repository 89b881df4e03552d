import type { ClaimedJob } from "@kule/api/testing/test-agent";
import { type SeenVm, seenAs, TestScanner } from "@kule/api/testing/test-scanner";
import { done, type SceneApi } from "./scene-api.ts";

/** A VM that Kule did not create. */
export function foreignVm(vmid: number, name = `vm-${vmid}`): SeenVm {
  return { vmid, node: "pve1", type: "qemu", state: "seen", seen_after_ms: 0, power: "on", name };
}

/**
 * Two scans of region ist1, which is how often a difference must be seen to be reported, and an incomplete one. No other
 * VMs are looked for: those of a scene's servers are neither found nor missing.
 */
export async function scanTwice(
  api: SceneApi,
  vms: readonly SeenVm[],
  missing: readonly number[] = [],
): Promise<void> {
  // As the agent of the scene: another one would have to wait for the next scan.
  const [last] = await api.sql("select agent_run from region_inventory where region = 'ist1'");
  const scanner = new TestScanner(api.agent.api, last?.agent_run);
  const absent = missing.map((vmid) => ({ vmid, seen_after_ms: 0 }));
  for (let scan = 1; scan <= 2; scan++) {
    const { pass } = await scanner.begin();
    if (pass === null) throw new Error("another agent scans the region");
    await scanner.batch(pass, 0, { vms, absent, end: { complete: true } });
  }
  // An agent that cannot ask a node says so, and its scan shows nothing as missing.
  const { pass } = await scanner.begin();
  await scanner.batch(pass ?? 0, 0, { end: { complete: false, trouble: "offline: pve3" } });
}

/** Region ist1 differs in every way, at a server `resized`, a server `lost` and at two VMs without a server. */
type Drift = {
  /** The id of the server whose VM has other processors. */
  readonly changedId: string;
  readonly foreignVmid: number;
};

/** @param place of the servers, such as a subnet */
export async function haveDrift(api: SceneApi, place: object = {}): Promise<Drift> {
  const changed = await createdVm(api, "resized", place);
  const lost = await createdVm(api, "lost", place);
  const marker = { ...changed.vm.marker, server_id: `srv_${"0".repeat(26)}` } as NonNullable<
    SeenVm["marker"]
  >;
  const [foreignVmid, extraVmid] = [20_090, 20_091];
  const guest: NonNullable<SeenVm["guest"]> = {
    agent: true,
    cloud_init: "done",
    os: "Ubuntu 24.04.1 LTS",
    hostname: "resized",
    addresses: ["10.0.0.5", "fe80::84b:75ff:fe00:64"],
    uptime_seconds: 86_400,
  };
  const vms = [
    { ...changed.vm, vcpu: 9, guest },
    foreignVm(foreignVmid),
    { ...foreignVm(extraVmid), marker },
  ];
  await scanTwice(api, vms, [lost.vm.vmid]);
  return { changedId: changed.id, foreignVmid };
}

/** Jobs that need an operator, one for each reason; their servers are named after it. */
export async function haveStuckJobs(api: SceneApi, place: object = {}): Promise<void> {
  const { agent } = api;
  const error = {
    ...{ code: "template_missing", message: "VM 9004 <is gone>", internal: "UPID:… exit 255" },
    retryable: true,
  };
  await create(api, "failed", place);
  await agent.fail(await agent.take("ServerCreate"));
  await create(api, "repeating", place);
  const repeating = await agent.take("ServerCreate");
  await agent.end(repeating, { status: "retry", error });
  await create(api, "slow", place);
  const slow = await agent.take("ServerCreate");
  await create(api, "silent", place);
  const silent = await agent.take("ServerCreate");
  await create(api, "not-claimed", place);
  await api.sql("update job set attempt = 4, run_at = clock_timestamp() + interval '1 hour' where id = $1", [
    repeating.id,
  ]);
  await api.sql(
    `update job set started_at = clock_timestamp() - interval '3 hours',
                    lease_until = clock_timestamp() + interval '3 hours' where id = $1`,
    [slow.id],
  );
  await api.sql("update job set lease_until = clock_timestamp() - interval '3 hours' where id = $1", [
    silent.id,
  ]);
  await api.sql(
    `update job set run_at = clock_timestamp() - interval '3 hours'
      where status = 'queued' and attempt = 0 and kind = 'ServerCreate'`,
  );
}

async function create(api: SceneApi, name: string, place: object): Promise<string> {
  const body = { name, region: "ist1", image: "debian-13", package: "s", ...place };
  return (await done(api.acme.post("/servers", body))).server.id;
}

async function createdVm(api: SceneApi, name: string, place: object): Promise<{ id: string; vm: SeenVm }> {
  const id = await create(api, name, place);
  const job = await takeCreate(api);
  await api.agent.succeed(job);
  return { id, vm: seenAs(job) };
}

/** The job that creates a server; the network that it needs is ready then. */
export async function takeCreate({ agent }: SceneApi): Promise<ClaimedJob> {
  const job = await agent.claim();
  if (job?.kind === "ServerCreate") return job;
  if (job?.kind !== "NetworkApply") throw new Error(`claimed ${job?.kind ?? "nothing"}`);
  await agent.end(job, { status: "succeeded" });
  return agent.take("ServerCreate");
}

/**
 * What a scene cannot keep: every running job has a new lease in a new world, and a report grows old. A check of the
 * invariants has found nothing.
 */
export async function refreshTroubles(api: SceneApi): Promise<void> {
  await api.sql(
    `update job set lease_until = clock_timestamp() - interval '3 hours'
      where status = 'running' and resource_id in (select id from server where name = 'silent')`,
  );
  const checks = [
    { invariant: "I3", check: "a live server has one VM number, one interface and one address" },
    { invariant: "I4", check: "the addresses of a subnet add up" },
  ];
  await api.sql(
    `insert into invariant_report (checked_at, duration_ms, interval_seconds, checks, violations, failures)
     values (clock_timestamp() - interval '2 minutes', 210, 600, $1, '[]', '[]')`,
    [JSON.stringify(checks.map((each) => ({ ...each, violations: 0, duration_ms: 4 })))],
  );
}
