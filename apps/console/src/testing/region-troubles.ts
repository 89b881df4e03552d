import type { ClaimedJob } from "@kule/api/testing/test-agent";
import type { SeenVm } from "@kule/api/testing/test-scanner";
import { createSeen, foreignVm, scanInPart, scanSome } from "./scans.ts";
import { done, type SceneApi } from "./scene-api.ts";

type Drift = {
  /** The id of the server whose VM has other processors. */
  readonly changedId: string;
  readonly foreignVmid: number;
};

/**
 * Region ist1 differs in every way, at a server `resized`, a server `lost` and at two VMs without a server. Its last
 * scan is incomplete.
 *
 * @param place of the servers, such as a subnet
 */
export async function haveDrift(api: SceneApi, place: object = {}): Promise<Drift> {
  const changed = await createSeen(api, "resized", place);
  const lost = await createSeen(api, "lost", place);
  const marker = { ...changed.vm().marker, server_id: `srv_${"0".repeat(26)}` } as NonNullable<
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
  const vms = [changed.vm({ vcpu: 9, guest }), foreignVm(foreignVmid), { ...foreignVm(extraVmid), marker }];
  await scanSome(api, vms, [lost.vmid]);
  await scanInPart(api, "offline: pve3");
  return { changedId: changed.id, foreignVmid };
}

/**
 * The database was restored from a backup: region old1 waits for a scan, and in old2 a VM uses numbers that the records
 * have for free.
 */
export async function haveRestore(api: SceneApi): Promise<void> {
  for (const [index, slug] of ["old1", "old2"].entries())
    await done(
      api.operator.post("/regions", {
        slug,
        name: slug,
        vmid_range: { first: 60_000 + index * 10, last: 60_009 + index * 10 },
        vlan_range: { first: 100, last: 109 },
        restricted_to: [],
      }),
    );
  await api.sql(`insert into restore (id, moment, epoch_floor, summary) values ('rst_${"0".repeat(26)}', now(), 1,
    '{"jobs_ended":2,"jobs_kept":3,"sessions_ended":1,"codes_ended":1,"tokens_ended":0,"tokens_valid":4}')`);
  await api.sql("update region set restored_at = now() where slug in ('old1', 'old2')");
  await api.sql("update region set restore_scanned_at = now() where slug = 'old2'");
  await api.sql(`insert into held_vm (id, region, vmid, pass, held, disputed)
    values ('hvm_${"0".repeat(26)}', 'old2', 60011, 1,
            '[{"kind":"vmid","value":"60011","subnetId":null,"holder":null}]',
            '[{"kind":"public_address","value":"203.0.113.9","subnetId":null,"holder":"srv_1"}]')`);
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
    [
      JSON.stringify(
        checks.map((each) => ({ ...each, violations: 0, duration_ms: 4, complete_since: null })),
      ),
    ],
  );
}
