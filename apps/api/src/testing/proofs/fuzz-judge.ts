import type { OperationId } from "@kule/contract/schemas";
import { responseDefect } from "@kule/contract/validate-response";
import type { Permission } from "@kule/rules/identity/permissions";
import { newId } from "../../platform/ids.ts";
import type { FuzzCase } from "./fuzz-cases.ts";
import type { FuzzActor, FuzzPools } from "./fuzz-pools.ts";
import type { RawAnswer } from "./operation-call.ts";
import { recipes } from "./recipes.ts";

export type FuzzRequest = {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
};

/** Builds the request of a case, with existing objects where it uses the actor's own. */
export async function requestOf(fuzz: FuzzCase, actor: FuzzActor, pools: FuzzPools): Promise<FuzzRequest> {
  const { operation } = fuzz;
  const asksForOwn = Object.values(fuzz.path).find((choice) => choice.from === "own");
  const own =
    asksForOwn?.from === "own" && actor.permissions.has(operation.permission)
      ? await pools.own(actor, operation.id, asksForOwn.pick)
      : {};
  const foreign = actor.side === pools.all.a ? pools.all.b : pools.all.a;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const choice = fuzz.path[name];
    const kind = name.replace(/_id$/, "");
    if (choice?.from === "text") return encodeURIComponent(choice.text);
    if (choice?.from === "own" && own[name] !== undefined) return own[name];
    if (choice?.from === "foreign" && !ofTheInstallation.has(kind))
      return (foreign.standing as { readonly [kind: string]: string })[kind] ?? newId("srv");
    return newId("srv");
  });
  const search =
    fuzz.rawQuery ?? new URLSearchParams(fuzz.query.map(([name, value]) => [name, value])).toString();
  const method = fuzz.method ?? operation.method.toUpperCase();
  const sendsBody = fuzz.body.kind !== "none" && method !== "GET" && method !== "HEAD";
  return {
    method,
    target: `/api/v1${path}${fuzz.pathTail}${search === "" ? "" : `?${search}`}`,
    headers: {
      ...(actor.caller.token === null ? {} : { Authorization: `Bearer ${actor.caller.token}` }),
      ...(sendsBody && fuzz.contentType !== null ? { "Content-Type": fuzz.contentType } : {}),
      ...actor.headers,
      ...fuzz.headers,
    },
    body: sendsBody ? await bytesOf(fuzz, actor, pools) : null,
  };
}

/** To an operator none of these is foreign. */
const ofTheInstallation: ReadonlySet<string> = new Set([
  "organisation",
  "region",
  "ip_pool",
  "agent_rollout",
]);

async function bytesOf(
  { body, operation }: FuzzCase,
  actor: FuzzActor,
  pools: FuzzPools,
): Promise<string | Uint8Array<ArrayBuffer>> {
  switch (body.kind) {
    case "none":
      return "";
    case "recipe":
      return JSON.stringify((await recipes[operation.id].body?.(actor.side, pools.all)) ?? {});
    case "valid":
    case "defects":
      return JSON.stringify(body.value);
    case "json":
      return body.text;
    case "broken":
      return body.bytes;
  }
}

const transport = new Set([405, 413, 415]);
/** A hundred fields with the longest texts that name one; whatever is sent, a refusal is not longer. */
const longestRefusal = 200_000;

/** What is wrong with the answer; nothing when it is as the contract says. */
export function judgeFuzz(fuzz: FuzzCase, actor: FuzzActor, answer: RawAnswer): string[] {
  const { operation } = fuzz;
  const defects: string[] = [];
  const { status } = answer;
  if (status >= 500 && status !== 503) defects.push("an internal error");
  if (answer.headers.get("X-Request-Id") === null) defects.push("no X-Request-Id");
  const isPlain = fuzz.method === null && fuzz.pathTail === "" && fuzz.rawQuery === null;
  const isHead = fuzz.method === "HEAD";
  if (status >= 400 && !isHead) defects.push(...problemDefects(answer));
  if (status >= 400 && answer.text.length > longestRefusal)
    defects.push(`a refusal of ${answer.text.length} characters`);
  if (!isPlain) return defects;
  if (!transport.has(status)) {
    // An answer that is not JSON fits only operations whose answer the contract describes as something else.
    const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get("Content-Type") ?? "");
    const body: unknown = answer.text === "" || !isJson ? null : JSON.parse(answer.text);
    const defect = responseDefect(operation.id, status, body);
    if (defect !== null) defects.push(defect);
  }
  defects.push(...orderDefects(fuzz, actor, answer));
  return defects;
}

function problemDefects(answer: RawAnswer): string[] {
  if (!answer.headers.get("Content-Type")?.startsWith("application/problem+json"))
    return ["not a problem document"];
  const problem = JSON.parse(answer.text) as { status: number; request_id: string };
  const defects: string[] = [];
  const mismatch = responseDefect("getServer", 404, problem);
  if (mismatch !== null) defects.push(mismatch);
  if (problem.status !== answer.status) defects.push("the problem names another status");
  if (problem.request_id !== answer.headers.get("X-Request-Id")) defects.push("two request ids");
  if (/node_modules|at \w+ \(|\.ts:\d|select .* from /i.test(answer.text)) defects.push("shows its insides");
  return defects;
}

/** 401 before 403 before 404 before 422, each only when its condition is met. */
function orderDefects(fuzz: FuzzCase, actor: FuzzActor, { status, text }: RawAnswer): string[] {
  const { operation, body } = fuzz;
  if (operation.permission === "public") return [];
  const isKnown = actor.permissions.has("authenticated");
  if (!isKnown) return status === 401 ? [] : [`expected 401 before anything else, got ${status}`];
  if (status === 401) return ["401 for a valid token"];
  const mayDo = actor.permissions.has(operation.permission);
  if (!mayDo) return status === 403 ? [] : [`expected 403, got ${status}`];
  const mayNot = lacksMore(fuzz, actor, status, text);
  if (mayNot !== null) return mayNot;
  if (status === 403 && isUnprotectRefused(fuzz, actor, text)) return [];
  if (status === 403 && !isPrivilege(operation.id)) return ["403 for somebody who may"];
  if (status === 429) return [];
  const choices = Object.values(fuzz.path);
  if (createsByPath.has(operation.id)) {
    const { domain_id: domain, ...recordSet } = fuzz.path;
    if (domain?.from !== "own") return status === 404 ? [] : [`expected 404, got ${status}`];
    if (Object.values(recordSet).some((choice) => choice.from !== "own")) return [];
  }
  if (choices.some((choice) => choice.from !== "own"))
    return status === 404 ? [] : [`expected 404, got ${status}`];
  const mayBeGone = choices.length > 0 && status === 404;
  if (operation.body === null || mayBeGone) return [];
  const isJson = fuzz.contentType === "application/json" && !("Content-Encoding" in fuzz.headers);
  if (body.kind === "broken" && !(body.bytes.length === 0 && operation.body === "optional") && isJson)
    return status === 400 ? [] : [`expected 400 for what is not JSON, got ${status}`];
  if (body.kind !== "defects" || !isJson) return [];
  if (status !== 422) return [`expected 422, got ${status}`];
  const { errors = [] } = JSON.parse(text) as { errors?: { pointer: string; code: string }[] };
  const named = new Set(errors.map((error) => error.pointer));
  const missing = body.pointers.filter((pointer) => !named.has(pointer));
  return missing.length === 0 ? [] : [`does not name ${missing.join(" and ")}`];
}

/** Permissions that some uses of an operation need beyond its own. */
const askedInside: Partial<Record<OperationId, (fuzz: FuzzCase) => Permission | null>> = {
  deleteServer: ({ query }) =>
    query.some(([name, value]) => name === "purge" && value === "true") ? "server:purge" : null,
  deleteDomain: ({ query }) =>
    query.some(([name, value]) => name === "purge" && value === "true") ? "domain:purge" : null,
};

/** Operations whose path also names what is to be created: there it is a 422 when it cannot be. */
const createsByPath: ReadonlySet<OperationId> = new Set(["setRecordSet", "changeRecordValues"]);

/**
 * Null unless the request needs more than the operation's permission, and the caller lacks it: then only 403
 * is right.
 */
function lacksMore(fuzz: FuzzCase, actor: FuzzActor, status: number, text: string): string[] | null {
  const more = askedInside[fuzz.operation.id]?.(fuzz) ?? null;
  if (more === null || actor.permissions.has(more)) return null;
  // Of a parameter that is sent twice only one is read: whichever it is, there is no purge.
  const isTwice = fuzz.query.filter(([name]) => name === "purge").length > 1;
  if (status !== 403) return isTwice ? null : [`expected 403 for want of ${more}, got ${status}`];
  const { required } = JSON.parse(text) as { required?: readonly string[] };
  return required?.includes(more) ? [] : [`403 that does not name ${more}`];
}

/** Needed to remove protection; whether it is set depends on the requests before this one. */
const askedToUnprotect: Partial<Record<OperationId, Permission>> = {
  updateServer: "server:unprotect",
  updatePublicIp: "public_ip:unprotect",
  updateDomain: "domain:unprotect",
};

/** Whether a 403 is the one for a caller who would remove protection and may not. */
function isUnprotectRefused({ operation, body }: FuzzCase, actor: FuzzActor, text: string): boolean {
  const permission = askedToUnprotect[operation.id];
  if (permission === undefined || actor.permissions.has(permission)) return false;
  const sent: unknown =
    body.kind === "valid" || body.kind === "defects"
      ? body.value
      : body.kind === "json"
        ? JSON.parse(body.text)
        : null;
  const { protection } = (sent ?? {}) as { protection?: object };
  const { required } = JSON.parse(text) as { required?: readonly string[] };
  return Object.values(protection ?? {}).includes(false) && required?.join() === permission;
}

/** Operations that also check the role that is granted or revoked. */
const isPrivilege = (id: string) => /Member$|Token$|Invitation$/.test(id);
