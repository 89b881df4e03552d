import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { responseDefect } from "@kule/contract/validate-response";
import { allOperations } from "@kule/testing/contract/contract-schema";
import pg from "pg";
import type { ApiCaller } from "../api-caller.ts";
import type { Findings } from "./isolation-answers.ts";
import { closedObjectsIn, foreignFields, isClosed } from "./mass-assignment.ts";
import { callOperation, type OperationCall, type RawAnswer } from "./operation-call.ts";
import { personalCall } from "./person.ts";
import { recipes } from "./recipes.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** Written into fields that a body does not have; it must neither be stored nor shown. */
const canary = "canary-that-nobody-may-store";

/**
 * Bodies that agents send: an agent may be newer than the API, so its additions are ignored and not refused.
 */
const agentsBodies = [
  "claimJob",
  "claimConsole",
  "reportHealth",
  "reportInventory",
  "reportLoadBalancers",
  "reportStep",
];

export type MassAssignment = Findings & { readonly fields: number; readonly answers: number };

/** Sends every body with fields that it does not have: together, one by one, and inside of its objects. */
export async function runMassAssignment(all: TwoOrganisations, oneByOne: RegExp): Promise<MassAssignment> {
  const violations: string[] = [];
  let cases = 0;
  let fields = 0;
  const withBody = allOperations().filter((info) => info.body !== null);
  for (const info of withBody) {
    const foreign = foreignFields(info.id);
    fields += foreign.length;
    if (foreign.length < 20) violations.push(`only ${foreign.length} fields are foreign to ${info.id}`);
    // A refused call uses nothing up, so one object serves all: an organisation has at most 100 of some kinds.
    const prepared = await prepare(all, info);
    const together = await send(prepared, Object.fromEntries(foreign.map((name) => [name, canary])));
    cases += 1;
    if (!isClosed(info.id)) {
      if (!agentsBodies.includes(info.id))
        violations.push(`the body of ${info.id} takes fields that it does not have`);
      if (together.status >= 300)
        violations.push(`${info.id} refuses what a newer agent adds: ${together.status}`);
      if (together.text.includes(canary))
        violations.push(`${info.id} answers with a field that it does not have`);
      continue;
    }
    violations.push(...notRefused(info.id, together, foreign));
    for (const name of oneByOne.test(info.id) ? foreign : []) {
      const alone = await send(prepared, { [name]: canary });
      cases += 1;
      violations.push(...notRefused(info.id, alone, [name]));
    }
    for (const name of closedObjectsIn(info.id)) {
      const nested = await send(prepared, { [name]: { organisation_id: canary } });
      cases += 1;
      if (!errorsOf(nested).some(({ pointer }) => pointer === `/${name}/organisation_id`))
        violations.push(`${info.id} does not refuse organisation_id in ${name}: ${nested.status}`);
    }
  }
  const stored = await tablesWith(all, canary);
  violations.push(...stored.map((table) => `${table} holds what was written into a field that no body has`));
  if ((await tablesWith(all, all.a.tenant.mark)).length < 3)
    violations.push("the search finds nothing of what is there");
  const shown = await excessFindings(all);
  return {
    cases: cases + shown.cases,
    violations: [...violations, ...shown.violations],
    fields,
    answers: shown.cases,
  };
}

const secretColumns = /"(secret_hash|password_hash|sealed_password|lease_until|claim_id|internal_error)":/;

/** Every operation once, as it succeeds: no object of its answer may have a field that its schema does not have. */
async function excessFindings(all: TwoOrganisations): Promise<Findings> {
  const violations: string[] = [];
  let cases = 0;
  for (const info of allOperations()) {
    const answer = await send(await prepare(all, info), {});
    cases += 1;
    if (answer.status >= 300)
      violations.push(`${info.id} answered ${answer.status} ${answer.text.slice(0, 200)}`);
    const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get("Content-Type") ?? "");
    const defect = responseDefect(info.id, answer.status, isJson ? JSON.parse(answer.text) : null);
    if (defect !== null) violations.push(`${info.id} shows what its schema does not have: ${defect}`);
    if (info.tag !== "agent" && info.tag !== "meta" && secretColumns.test(answer.text))
      violations.push(`${info.id} shows a column of the row behind it: ${answer.text.slice(0, 300)}`);
  }
  return { cases, violations };
}

function notRefused(id: OperationId, answer: RawAnswer, fields: readonly string[]): string[] {
  if (answer.status !== 422) return [`${id} took ${fields.join(", ")}: ${answer.status}`];
  const named = new Set(
    errorsOf(answer).flatMap(({ code, pointer }) => (code === "unknown_field" ? [pointer] : [])),
  );
  const missing = fields.filter((name) => !named.has(`/${name}`));
  return missing.length === 0 ? [] : [`${id} does not refuse ${missing.join(", ")}`];
}

type Prepared = { readonly caller: ApiCaller; readonly call: OperationCall };

/** A call that is going to succeed, with objects of its own where it uses them up. */
async function prepare(all: TwoOrganisations, info: OperationInfo): Promise<Prepared> {
  const { world, a, regions } = all;
  const recipe = recipes[info.id];
  const isOperators = info.permission.startsWith("operator:");
  const personal = await personalCall(info, a, world);
  const caller =
    personal?.caller ??
    (info.tag === "agent"
      ? regions.r1.agent
      : isOperators
        ? world.operator.with({ "Kule-Organisation": a.tenant.id })
        : a.tenant.callers.owner);
  // In this order: what the path creates, the body may name.
  const path = (await recipe.path?.(a, all)) ?? {};
  const body = personal?.body ?? (await recipe.body?.(a, all));
  return { caller, call: { operation: info.id, path, ...(info.body === null ? {} : { body }) } };
}

/** @param more fields to add to the body, when the operation has one */
function send({ caller, call }: Prepared, more: object): Promise<RawAnswer> {
  const body = "body" in call ? { body: { ...(call.body as object), ...more } } : {};
  return callOperation(caller, { ...call, ...body });
}

function errorsOf(answer: RawAnswer): { pointer: string; code: string }[] {
  if (answer.status < 400) return [];
  return (JSON.parse(answer.text) as { errors?: { pointer: string; code: string }[] }).errors ?? [];
}

/** Names of the tables that contain the text, graphile-worker's included. */
async function tablesWith(all: TwoOrganisations, text: string): Promise<string[]> {
  const owner = new pg.Client({ connectionString: all.world.database.ownerUrl });
  await owner.connect();
  try {
    const { rows: tables } = await owner.query<{ name: string; tablename: string }>(
      `select format('%I.%I', schemaname, tablename) as name, tablename from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const found: string[] = [];
    for (const { name, tablename } of tables) {
      const { rows } = await owner.query(`select 1 from ${name} t where strpos(t::text, $1) > 0 limit 1`, [
        text,
      ]);
      if (rows.length > 0) found.push(tablename);
    }
    return found;
  } finally {
    await owner.end();
  }
}
