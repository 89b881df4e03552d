import { randomBytes } from "node:crypto";
import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { isPublicSuffix } from "@kule/dns/public-suffix";
import { claimLifetimeMs } from "@kule/rules/domains/claim";
import { readDomainName } from "@kule/rules/domains/domain-name";
import { fileChanges } from "@kule/rules/domains/file-changes";
import { decideClaim, isProvenByParent, type VerificationDecision } from "@kule/rules/domains/ownership";
import { ownNameServers } from "@kule/rules/domains/ownership-proof";
import { defaultTtlSeconds } from "@kule/rules/domains/record-set";
import { enclosingReverseZone } from "@kule/rules/domains/reverse-zone-of";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { Conflict, fieldError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { askedBy } from "./apply.ts";
import { ownershipRefusal, requireDns } from "./domain-refusals.ts";
import { recordSetsOfFile } from "./import-zone-file.ts";
import { isDelegatedByParent, lockOwnership, readClaims } from "./ownership-store.ts";
import { becomeProven, decideUnderLock } from "./prove-domain.ts";
import { type DomainRow, writtenDomain } from "./store.ts";
import { viewDomain } from "./view.ts";
import { writeChanges } from "./write-changes.ts";

/** @throws Invalid with the lines of the zone file that are wrong */
export function checkCreateDomain(
  request: ApiRequest<"createDomain">,
  body: Partial<RequestBody<"createDomain">>,
): readonly FieldError[] {
  if (body.name === undefined) return [];
  const reading = readDomainName(body.name, { mayBeReverse: request.caller.isOperator });
  if (!reading.ok)
    return [fieldError("/name", "invalid_format", `${reading.problem.message}. ${reading.problem.fix}`)];
  if (isPublicSuffix(reading.name))
    return [
      fieldError(
        "/name",
        "invalid_format",
        `others register their domains under ${reading.name}. Enter yours, such as example.${reading.name}`,
      ),
    ];
  const reverseZone = enclosingReverseZone(reading.name, request.deps.dns?.reverseZones ?? []);
  if (reverseZone !== null)
    return [
      fieldError(
        "/name",
        "invalid_format",
        `the reverse names of public IPs are served in ${reverseZone}. Set ptr at the public IP, or reverse_name at its pool`,
      ),
    ];
  if (body.zone_file === undefined) return [];
  recordSetsOfFile(body.zone_file, { name: reading.name, defaultTtlSeconds: body.ttl ?? defaultTtlSeconds });
  return [];
}

export async function createDomain(request: ApiRequest<"createDomain">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const dns = requireDns(request.deps.dns);
  const name = nameOf(request);
  const isOwnParents = await isInsideOwn(tx, organisationId, name);
  if (isOwnParents) await lockOwnership(tx);
  await removeEnded(tx, organisationId, name);
  await refuseClaim(tx, organisationId, name);
  await takeQuota(tx, organisationId, { domains: 1 });
  const domain = await insertDomain(request, tx, name, dns);
  // Whoever has the parent has all names inside of it, so there is nothing to prove.
  const isStillOwn = isOwnParents && (await isInsideOwn(tx, organisationId, name));
  const proof: VerificationDecision | null = isStillOwn
    ? await decideUnderLock(tx, domain, { by: "parent", observed: null })
    : null;
  let job = proof?.ok === true ? await becomeProven(tx, domain, proof, "parent", askedBy(request)) : null;
  if (body.zone_file !== undefined) {
    const text = body.zone_file;
    const written = await writeChanges(
      request,
      tx,
      domain,
      ({ name: zone, default_ttl_seconds }) =>
        fileChanges(
          recordSetsOfFile(text, { name: zone, defaultTtlSeconds: default_ttl_seconds }),
          [],
          "merge",
        ),
      { pointerOf: (problem) => `/zone_file/${problem.name}/${problem.type}` },
    );
    job = written.job ?? job;
  }
  const row = await writtenDomain(tx, organisationId, domain.id);
  return {
    reply: reply(
      job === null ? 201 : 202,
      { domain: viewDomain(row), job: await viewJobOrNone(tx, job, request.caller) },
      { Location: `/api/v1/domains/${row.id}`, ETag: `"g${row.generation}"` },
    ),
    resource: row.id,
    details: { name },
  };
}

function nameOf({ body, caller }: ApiRequest<"createDomain">): string {
  const reading = readDomainName(body.name, { mayBeReverse: caller.isOperator });
  if (!reading.ok) throw new Error("the name was not checked");
  return reading.name;
}

async function isInsideOwn(tx: Tx, organisationId: string, name: string): Promise<boolean> {
  return isProvenByParent({ organisationId, name }, (await readClaims(tx, name)).claims);
}

/** A claim that was not proven in time, or was lost, stands in nobody's way: adding the name again begins anew. */
async function removeEnded(tx: Tx, organisationId: string, name: string): Promise<void> {
  await tx
    .deleteFrom("domain")
    .where("organisation_id", "=", organisationId)
    .where("name", "=", name)
    .where("is_verified", "=", false)
    .where((is) => is.or([is("status", "<>", "pending"), is("created_at", "<", pendingSince)]))
    .execute();
}

const pendingSince = sql<Date>`clock_timestamp() - make_interval(secs => ${claimLifetimeMs / 1000})`;

/** @throws Conflict when the organisation may not claim the name */
async function refuseClaim(tx: Tx, organisationId: string, name: string): Promise<void> {
  const { claims, nowMs } = await readClaims(tx, name);
  const [isDelegated, { pending }] = await Promise.all([
    isDelegatedByParent(tx, name, claims),
    tx
      .selectFrom("domain")
      .select(sql<number>`count(*)::integer`.as("pending"))
      .where("organisation_id", "=", organisationId)
      .where("status", "=", "pending")
      .where("created_at", ">=", pendingSince)
      .executeTakeFirstOrThrow(),
  ]);
  const decision = decideClaim({ organisationId, name, nowMs, claims, isDelegated, pendingCount: pending });
  if (decision.ok) return;
  const own = claims.find((claim) => claim.organisationId === organisationId && claim.name === name);
  throw new Conflict(ownershipRefusal(decision.problem, own?.id ?? null));
}

async function insertDomain(
  { body, organisationId }: ApiRequest<"createDomain">,
  tx: Tx,
  name: string,
  { nameServers }: DnsInstallation,
): Promise<DomainRow> {
  const label = newLabel();
  const patterns = nameServers.map(({ pattern }) => pattern);
  return tx
    .insertInto("domain")
    .values({
      id: newId("dom"),
      organisation_id: organisationId,
      name,
      description: body.description ?? "",
      labels: JSON.stringify(body.labels ?? {}),
      default_ttl_seconds: body.ttl ?? defaultTtlSeconds,
      verification_token: randomBytes(16).toString("hex"),
      label,
      name_servers: [...ownNameServers(patterns, label).all],
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      if (violatedConstraint(error) !== "domain_name") throw error;
      throw new Conflict(
        ownershipRefusal(
          {
            rule: "already_yours",
            field: "name",
            message: `${name} is in this organisation already`,
            fix: "Use the domain that you have",
          },
          null,
        ),
      );
    });
}

/** 60 bits that nobody can guess, and that no two domains ever share; a label begins with a letter. */
function newLabel(): string {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  return `k${[...randomBytes(12)].map((byte) => digits[byte & 31]).join("")}`;
}
