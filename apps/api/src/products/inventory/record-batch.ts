import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { capacityOf, deleteGrowth } from "./capacity.ts";
import { clearDrift, clearUnseenDrift, type DriftNews, type DriftNote, noteDrift } from "./drift-notes.ts";
import { judgeGuest, type RegionFacts, type RegionRestore } from "./find-drift.ts";
import { databaseTime, hiddenOf, keepGuests, type Sighting, sightingsOf } from "./guests.ts";
import { holdWhatIsUsed } from "./held-vms.ts";
import { type Holder, jobsOf, lockHolders } from "./holders.ts";
import { isNews, type Observed, observeServers, type PowerNews } from "./observe-servers.ts";
import { lockPass, type PassRow } from "./passes.ts";

type Report = Schemas["InventoryReport"];

/** Changes in a batch that are reported to the log. */
export type BatchNews = {
  readonly recorded: boolean;
  readonly power: readonly PowerNews[];
  readonly drift: readonly DriftNews[];
  readonly resolved: readonly DriftNews[];
  readonly passEnded: {
    readonly complete: boolean;
    readonly trouble: string | null;
    readonly implausible: readonly string[];
  } | null;
};

const nothing: BatchNews = { recorded: true, power: [], drift: [], resolved: [], passEnded: null };

/**
 * Records one batch of a scan of the region; a batch of an earlier scan, or one that was recorded before,
 * changes nothing.
 */
export async function recordBatch(tx: Tx, region: string, report: Report): Promise<BatchNews> {
  const pass = await lockPass(tx, region, report);
  if (pass === null) return { ...nothing, recorded: false };
  const batch = report.batch ?? 0;
  // The answer to it was lost.
  if (batch < pass.next_batch) return nothing;
  // A batch before it is missing: this scan is incomplete and stays so.
  if (batch > pass.next_batch) return { ...nothing, recorded: false };
  const now = await databaseTime(tx);
  const sightings = sightingsOf(report, pass, now);
  const { facts, restore } = await factsOf(tx, region, report);
  const found = await judge(tx, facts, sightings);
  const hidden = await hiddenNotes(tx, region, hiddenOf(report, pass, now));
  await keepGuests(tx, region, pass.pass, sightings);
  // After a restore its deletion may have been cancelled, without a record of it.
  const mayStop = restore === null || restore.isEnded;
  const power = await observeServers(tx, found.observed, mayStop);
  const resolved = await clearDrift(tx, region, found.right);
  const drift = await noteDrift(tx, region, pass.pass, [...found.notes, ...hidden]);
  await tx
    .updateTable("region_inventory")
    .set({ next_batch: batch + 1, renewed_at: sql<Date>`clock_timestamp()` })
    .where("region", "=", region)
    .execute();
  if (report.end === undefined) return { ...nothing, power, drift, resolved };
  const ended = await endPass(tx, { facts, restore }, pass, report.end);
  return {
    recorded: true,
    power: [...power, ...ended.power],
    drift: [...drift, ...ended.drift],
    resolved: [...resolved, ...ended.resolved],
    passEnded: {
      complete: report.end.complete,
      trouble: report.end.trouble ?? null,
      implausible: ended.implausible,
    },
  };
}

type Facts = { readonly facts: RegionFacts; readonly restore: RegionRestore | null };

async function factsOf(tx: Tx, slug: string, report: Report): Promise<Facts> {
  const { number, vmid_first, vmid_last, ...restore } = await tx
    .selectFrom("region")
    .select([
      "number",
      "vmid_first",
      "vmid_last",
      "restored_at",
      "restore_scanned_at",
      "restore_ended_at",
      "restore_takes_incomplete",
    ])
    .where("slug", "=", slug)
    .executeTakeFirstOrThrow();
  const { private_bridge, pool_prefix, public_network } = report;
  const facts: RegionFacts = {
    slug,
    number,
    vmidFirst: vmid_first,
    vmidLast: vmid_last,
    privateBridge: private_bridge ?? null,
    poolPrefix: pool_prefix ?? null,
    publicNetwork:
      public_network === undefined
        ? null
        : { bridge: public_network.bridge, vlan: public_network.vlan ?? null },
  };
  return {
    facts,
    restore:
      restore.restored_at === null
        ? null
        : {
            restoredAt: restore.restored_at,
            isScanned: restore.restore_scanned_at !== null,
            isEnded: restore.restore_ended_at !== null,
            takesIncomplete: restore.restore_takes_incomplete,
          },
  };
}

type Found = {
  readonly observed: Observed[];
  readonly notes: DriftNote[];
  /** Numbers at which all is as it should be. */
  readonly right: number[];
};

async function judge(tx: Tx, region: RegionFacts, sightings: readonly Sighting[]): Promise<Found> {
  const { holders, skipped } = await lockHolders(
    tx,
    region.slug,
    sightings.map(({ vmid }) => vmid),
  );
  const strangers = await jobsOfMarked(tx, region.slug, sightings);
  const found: Found = { observed: [], notes: [], right: [] };
  for (const sighting of sightings) {
    const { vmid, guest } = sighting;
    // Numbers without a guest are judged at the end of the scan.
    if (guest === null || guest.state !== "seen" || skipped.has(vmid)) continue;
    const holder = holders.get(vmid) ?? null;
    if (holder !== null && !isNews(holder, sighting)) continue;
    if (holder === null && isHistory(sighting, strangers)) continue;
    const judged = judgeGuest(region, sighting, guest, holder);
    if (judged.is === "ours")
      found.observed.push({ holder: judged.holder, lookedAt: sighting.lookedAt, guest });
    if (judged.is !== "nothing" && judged.note !== null) found.notes.push(judged.note);
    else found.right.push(vmid);
  }
  return found;
}

/** Servers whose VMs exist but out of the agent's reach: an agent reaches them by their pools. */
async function hiddenNotes(tx: Tx, region: string, hidden: readonly Sighting[]): Promise<DriftNote[]> {
  if (hidden.length === 0) return [];
  const { holders } = await lockHolders(
    tx,
    region,
    hidden.map(({ vmid }) => vmid),
  );
  return hidden.flatMap((sighting) => {
    const holder = holders.get(sighting.vmid);
    if (holder === undefined || holder.server.observed_generation === 0 || !isNews(holder, sighting))
      return [];
    const { server, vmid } = holder;
    return [
      {
        vmid,
        kind: "changed" as const,
        server,
        node: server.node,
        vmName: null,
        marker: null,
        message: `VM ${vmid} is hidden from the region's agent: it was taken out of its pool`,
        differences: [{ field: "visibility", wanted: "visible", seen: "hidden" }],
        lookedAt: sighting.lookedAt,
      },
    ];
  });
}

/** A VM that was observed while it was being destroyed belongs to a server that is gone by now. */
function isHistory({ guest, lookedAt }: Sighting, jobs: Awaited<ReturnType<typeof jobsOf>>): boolean {
  const of = jobs.get(guest?.marker?.server_id ?? "");
  return of !== undefined && (of.has_open_job || (of.last_end !== null && of.last_end >= lookedAt));
}

async function jobsOfMarked(tx: Tx, region: string, sightings: readonly Sighting[]) {
  const marked = sightings.flatMap(({ guest }) =>
    guest?.marker == null || guest.marker.region !== region
      ? []
      : [{ id: guest.marker.server_id, organisation_id: guest.marker.organisation_id }],
  );
  return jobsOf(tx, marked);
}

type Ended = Pick<BatchNews, "power" | "drift" | "resolved"> & { readonly implausible: readonly string[] };

/** The scan has ended. Only a complete one shows what is missing. */
async function endPass(
  tx: Tx,
  { facts, restore }: Facts,
  pass: PassRow,
  end: Schemas["InventoryEnd"],
): Promise<Ended> {
  const region = facts.slug;
  const { complete, nodes, storages, images } = end;
  const measured =
    nodes !== undefined && storages !== undefined
      ? await capacityOf(tx, region, pass, { nodes, storages, images: images ?? [] })
      : null;
  const implausible = measured?.implausible ?? [];
  await tx
    .updateTable("region_inventory")
    .set({
      is_open: false,
      ended_pass: pass.pass,
      ended_at: sql<Date>`clock_timestamp()`,
      ended_complete: complete,
      trouble: troubleOf(end, implausible),
      ...(complete ? { complete_pass: pass.pass, complete_began_at: pass.began_at } : {}),
      ...(measured === null
        ? {}
        : { capacity: JSON.stringify(measured.capacity), capacity_at: pass.began_at }),
    })
    .where("region", "=", region)
    .execute();
  if (measured !== null && pass.began_at !== null) await deleteGrowth(tx, region, pass.began_at);
  if (restore !== null) await holdWhatIsUsed(tx, facts, restore, pass, complete);
  if (!complete) return { power: [], drift: [], resolved: [], implausible };
  const gone = await findGone(tx, region, pass.pass);
  const power = await observeServers(
    tx,
    gone.map(({ holder, lookedAt }) => ({ holder, lookedAt, guest: null })),
    restore === null || restore.isEnded,
  );
  const drift = await noteDrift(
    tx,
    region,
    pass.pass,
    gone.map(({ holder, lookedAt }) => missingNote(holder, lookedAt)),
  );
  const resolved = await clearUnseenDrift(tx, region, pass.pass);
  await tx.deleteFrom("region_vm").where("region", "=", region).where("pass", "<", pass.pass).execute();
  return { power, drift, resolved, implausible };
}

const maxTroubleCharacters = 1_000;

/** What operators read of the scan: the region's own errors, and its impossible figures. */
function troubleOf({ trouble }: Schemas["InventoryEnd"], implausible: readonly string[]): string | null {
  const all = trouble == null ? implausible : [trouble, ...implausible];
  return all.length === 0 ? null : all.join("; ").slice(0, maxTroubleCharacters);
}

/** Servers whose numbers were queried in this complete scan, and that no guest has. */
async function findGone(tx: Tx, region: string, pass: number): Promise<{ holder: Holder; lookedAt: Date }[]> {
  const absent = await tx
    .selectFrom("region_vm")
    .select(["vmid", "looked_at"])
    .where("region", "=", region)
    .where("pass", "=", pass)
    .where("state", "=", "absent")
    .execute();
  if (absent.length === 0) return [];
  const { holders } = await lockHolders(
    tx,
    region,
    absent.map(({ vmid }) => vmid),
  );
  return absent.flatMap(({ vmid, looked_at }) => {
    const holder = holders.get(vmid);
    if (holder === undefined || holder.server.observed_generation === 0) return [];
    const sighting: Sighting = { vmid, lookedAt: looked_at, guest: null };
    return isNews(holder, sighting) ? [{ holder, lookedAt: looked_at }] : [];
  });
}

function missingNote({ server, vmid }: Holder, lookedAt: Date): DriftNote {
  return {
    vmid,
    kind: "missing",
    server,
    node: server.node,
    vmName: null,
    marker: null,
    message: `No node has VM ${vmid} of server ${server.id}`,
    differences: [],
    lookedAt,
  };
}
