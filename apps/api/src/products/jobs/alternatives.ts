import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { Database } from "../../platform/database.ts";

type Filters = Pick<RequestQuery<"listOperatorJobs">, "region" | "status" | "kind">;
type Alternatives = readonly Readonly<Record<string, string>>[];

/** More parts than this cost Postgres more to plan than they save. */
const MOST_PARTS = 200;

const EVERY_KIND: { readonly [kind in Schemas["JobKind"]]: true } = {
  ServerCreate: true,
  ServerAdopt: true,
  ServerStop: true,
  ServerRestore: true,
  ServerDestroy: true,
  ServerPower: true,
  ServerResize: true,
  ServerRebuild: true,
  ServerPasswordReset: true,
  ServerUpdate: true,
  ServerReconcile: true,
  PublicIpAttach: true,
  PublicIpDetach: true,
  FirewallApply: true,
  NetworkApply: true,
};

/**
 * What a list of jobs asks for, as values of the columns that an index begins with; null when no index is better than the
 * list's own. Of a region every kind, and of a kind every region, because one index has both.
 */
export async function jobAlternatives(
  db: Database,
  { region, status, kind }: Filters,
): Promise<Alternatives | null> {
  // Open jobs, and those that ended badly, are few among all.
  if (status !== undefined && !status.includes("succeeded"))
    return status.map((value) => ({ "job.status": value }));
  if (region === undefined && kind === undefined) return null;
  const regions = region === undefined ? await slugsOfRegions(db) : [region];
  const kinds = kind ?? Object.keys(EVERY_KIND);
  if (regions.length * kinds.length > MOST_PARTS) return null;
  return regions.flatMap((slug) => kinds.map((each) => ({ "job.region": slug, "job.kind": each })));
}

async function slugsOfRegions(db: Database): Promise<string[]> {
  const regions = await db.selectFrom("region").select("slug").execute();
  return regions.map(({ slug }) => slug);
}
