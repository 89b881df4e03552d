import type { FieldError } from "@kule/contract/field-errors";
import { referencedServer } from "@kule/rules/domains/address-values";
import { readRecordName } from "@kule/rules/domains/record-name";
import { type RecordSet, recordSetKey, type Zone } from "@kule/rules/domains/record-set";
import {
  applyZoneChanges,
  type ChangeProblem,
  type PresentRecordSet,
  type ZoneChange,
} from "@kule/rules/domains/zone-changes";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid, NotFound, PreconditionFailed } from "../../platform/errors.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { askedBy, requestDomainApply } from "./apply.ts";
import { domainFull, refuseWhileDeleting } from "./record-refusals.ts";
import {
  deleteRecordSets,
  existingServers,
  type RecordSetRow,
  recordSetEtag,
  recordSetsOf,
  toRecordSet,
  type WrittenRecordSet,
  writeRecordSets,
} from "./record-store.ts";
import { type DomainRow, lockDomain } from "./store.ts";

/** A change, with what is beside the records; undefined leaves that as it is. */
export type WantedChange = ZoneChange & {
  readonly managedBy?: string | null | undefined;
  readonly comment?: string | undefined;
};

export type WrittenChanges = {
  readonly domain: DomainRow;
  readonly created: readonly RecordSetRow[];
  readonly changed: readonly { readonly before: RecordSetRow; readonly after: RecordSetRow }[];
  readonly deleted: readonly RecordSetRow[];
  /** Null when the name servers need no change, or have not got the domain yet. */
  readonly job: JobRow | null;
};

export type ChangesOptions = {
  /** The JSON pointer in the body of a field of a change, such as `/changes/3/values/0`. */
  readonly pointerOf: (problem: ChangeProblem) => string;
  /** The domain as a whole, which `If-Match` is about. */
  readonly checksDomain?: boolean;
};

export const zoneOf = (domain: Pick<DomainRow, "name" | "default_ttl_seconds">): Zone => ({
  name: domain.name,
  defaultTtlSeconds: domain.default_ttl_seconds,
});

/**
 * Writes changes of a domain's record sets, all or none, and queues the job that brings them to the name servers. Only
 * the record sets of the changed names are read, whatever else the domain has.
 *
 * @param changesOf the changes, from the domain under its lock
 */
export async function writeChanges(
  request: ApiRequest,
  tx: Tx,
  found: DomainRow,
  changesOf: (domain: DomainRow) => readonly WantedChange[] | Promise<readonly WantedChange[]>,
  { pointerOf, checksDomain = false }: ChangesOptions,
): Promise<WrittenChanges> {
  const domain = await lockDomain(tx, found.organisation_id, found.id);
  if (domain === null) throw new NotFound();
  const changes = await changesOf(domain);
  const rows = await recordSetsOf(tx, domain, namesOf(changes, domain.name));
  const before = new Map(rows.map((row) => [recordSetKey(row), row]));
  const present = rows.map((row): PresentRecordSet => ({ ...toRecordSet(row), etag: recordSetEtag(row) }));
  const decision = applyZoneChanges(present, changes, zoneOf(domain));
  if (!decision.ok && decision.reason === "invalid")
    throw new Invalid(fieldErrors(decision.problems, pointerOf), "validation_failed", decision.moreProblems);
  const meta = new Map<string, WantedChange>();
  for (const change of changes) meta.set(keyOf(change, domain.name), change);
  const wanted = decision.ok ? wantedRows(decision.diff, before, meta) : [];
  if (decision.ok) await requireServers(tx, domain.organisation_id, wanted, changes, domain.name, pointerOf);
  if (checksDomain) request.checkGeneration(domain);
  if (!decision.ok) throw stale(decision.problems);
  refuseWhileDeleting(domain);
  const { created, deleted } = decision.diff;
  const count = domain.record_count + created.length - deleted.length;
  if (created.length > deleted.length && count > domain.record_limit) throw domainFull(domain, count);
  await deleteRecordSets(tx, domain, deleted);
  const written = await writeRecordSets(tx, domain, wanted);
  const isServed = created.length + decision.diff.changed.length + deleted.length > 0;
  const job = isServed ? await requestDomainApply(tx, domain, askedBy(request)) : null;
  return {
    domain,
    created: written.filter((row) => !before.has(recordSetKey(row))),
    changed: written.flatMap((after) => {
      const old = before.get(recordSetKey(after));
      return old === undefined ? [] : [{ before: old, after }];
    }),
    deleted: deleted.flatMap((recordSet) => before.get(recordSetKey(recordSet)) ?? []),
    job,
  };
}

/** The canonical names that the changes have; one that cannot be read is refused by the rules. */
function namesOf(changes: readonly ZoneChange[], zone: string): string[] {
  const names = changes.flatMap(({ name }) => {
    const reading = readRecordName(name, zone);
    return reading.ok ? [reading.name] : [];
  });
  return [...new Set(names)];
}

function keyOf({ name, type }: ZoneChange, zone: string): string {
  const reading = readRecordName(name, zone);
  return recordSetKey({ name: reading.ok ? reading.name : name, type: type.toUpperCase() });
}

type Diff = Extract<ReturnType<typeof applyZoneChanges>, { ok: true }>["diff"];

/** What is written: the record sets that are new or other than before, and those beside which something changes. */
function wantedRows(
  { created, changed, deleted }: Diff,
  before: ReadonlyMap<string, RecordSetRow>,
  meta: ReadonlyMap<string, WantedChange>,
): WrittenRecordSet[] {
  const written = new Map<string, RecordSet>();
  for (const recordSet of [...created, ...changed.map(({ after }) => after)])
    written.set(recordSetKey(recordSet), recordSet);
  const gone = new Set(deleted.map(recordSetKey));
  for (const [key, change] of meta) {
    const row = before.get(key);
    if (row === undefined || gone.has(key) || written.has(key) || !changesMeta(row, change)) continue;
    written.set(key, toRecordSet(row));
  }
  return [...written].map(([key, recordSet]) => {
    const row = before.get(key);
    const change = meta.get(key);
    return {
      ...recordSet,
      serverId: referencedServer(recordSet.values[0] ?? ""),
      managedBy: change?.managedBy === undefined ? (row?.managed_by ?? null) : change.managedBy,
      comment: change?.comment ?? row?.comment ?? "",
    };
  });
}

const changesMeta = (row: RecordSetRow, { managedBy, comment }: WantedChange) =>
  (managedBy !== undefined && managedBy !== row.managed_by) ||
  (comment !== undefined && comment !== row.comment);

/** @throws Invalid for a server that the organisation does not have */
async function requireServers(
  tx: Tx,
  organisationId: string,
  wanted: readonly WrittenRecordSet[],
  changes: readonly WantedChange[],
  zone: string,
  pointerOf: ChangesOptions["pointerOf"],
): Promise<void> {
  const named = wanted.flatMap(({ serverId }) => (serverId === null ? [] : [serverId]));
  const existing = await existingServers(tx, organisationId, named);
  const missing = wanted.filter(({ serverId }) => serverId !== null && !existing.has(serverId));
  if (missing.length === 0) return;
  const errors = missing.map((recordSet) => {
    const index = changes.findLastIndex((change) => keyOf(change, zone) === recordSetKey(recordSet));
    return fieldError(
      pointerOf({
        rule: "server_reference",
        index,
        name: recordSet.name,
        type: recordSet.type,
        field: "values[0]",
        message: "",
        fix: "",
      }),
      "not_found",
      `there is no server ${recordSet.serverId} in this organisation`,
    );
  });
  throw new Invalid(errors);
}

/** Problems of the rules as the API tells them: the message, and what to do. */
export function fieldErrors(
  problems: readonly ChangeProblem[],
  pointerOf: ChangesOptions["pointerOf"],
): FieldError[] {
  return problems.map((problem) => fieldError(pointerOf(problem), codeOf(problem.rule), inWords(problem)));
}

export const inWords = ({ message, fix }: { readonly message: string; readonly fix: string }) =>
  `${message}. ${fix}`;

/** The field of a problem (`values[2]`) as the end of a JSON pointer (`/values/2`). */
export function pointerEnd(field: string): string {
  return `/${field.replace(/\[(\d+)\]/, "/$1")}`;
}

const codes: { readonly [rule: string]: FieldError["code"] } = {
  no_values: "required",
  empty_name: "required",
  too_many_values: "too_long",
  duplicate_value: "duplicate",
  ttl_range: "out_of_range",
  unsupported_type: "not_one_of",
  outside_zone: "out_of_range",
  cname_beside_others: "conflicts_with",
  cname_at_apex: "conflicts_with",
  cname_several_values: "too_long",
  server_reference_not_alone: "conflicts_with",
  null_mx_not_alone: "conflicts_with",
  ns_at_apex: "conflicts_with",
  values_of_delete: "conflicts_with",
};

/** The API's code for what a rule found: most rules are about the form of a text. */
export const codeOf = (rule: string): FieldError["code"] => codes[rule] ?? "invalid_format";

function stale(problems: readonly ChangeProblem[]): PreconditionFailed {
  const words = problems.slice(0, 10).map(({ name, type, message }) => `${name} ${type}: ${message}`);
  const more = problems.length > words.length ? `; and ${problems.length - words.length} more` : "";
  return new PreconditionFailed(
    `${words.join("; ")}${more}. Read again and decide anew; nothing was changed`,
  );
}
