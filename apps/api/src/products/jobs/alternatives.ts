import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { ofRegionAnd } from "../../platform/alternatives.ts";
import type { Database } from "../../platform/database.ts";
import type { OneOf } from "../../platform/pagination.ts";

type Filters = Pick<RequestQuery<"listOperatorJobs">, "region" | "status" | "kind">;

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
  LoadBalancerApply: true,
  DomainApply: true,
  CertificateRequest: true,
};

/** What a list of jobs asks for, by indexes; null when none is better than the list's own. */
export async function jobAlternatives(
  db: Database,
  { region, status, kind }: Filters,
): Promise<OneOf["alternatives"] | null> {
  // Open jobs, and those that ended badly, are few among all.
  if (status !== undefined && !status.includes("succeeded"))
    return status.map((value) => ({ "job.status": value }));
  return ofRegionAnd(db, "job.kind", { region, values: kind }, Object.keys(EVERY_KIND));
}
