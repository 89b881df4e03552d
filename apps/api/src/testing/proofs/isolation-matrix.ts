import { operations } from "@kule/contract/generated/operations";
import { bodySchema, type JsonSchema, resolved } from "@kule/testing/contract/contract-schema";
import {
  type ReferenceKind,
  type ReferencePlace,
  referencePlaces,
} from "@kule/testing/contract/reference-places";
import { newId } from "../../platform/ids.ts";
import type { ApiCaller } from "../api-caller.ts";
import { LeakLedger } from "./leak-ledger.ts";
import type { Actor } from "./matrix-actors.ts";
import { type ObjectState, objectStates, standingPath } from "./matrix-objects.ts";
import { callOperation, type OperationCall, type RawAnswer, withoutOwnAttempts } from "./operation-call.ts";
import { needsNewPerson, ofSessions, personalCall, signIns } from "./person.ts";
import { recipes } from "./recipes.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

export type MatrixReport = {
  cellsRun: number;
  readonly cellsInSpec: number;
  readonly unsorted: readonly string[];
  readonly failures: string[];
  /** Kinds of the parameters where something was wrong. */
  readonly failedKinds: ReadonlySet<ReferenceKind>;
};

export type MatrixSelection = {
  readonly actors: readonly Actor[];
  readonly place?: (place: ReferencePlace, actor: Actor) => boolean;
  readonly state?: (state: ObjectState) => boolean;
};

type Cell = { readonly actor: Actor; readonly place: ReferencePlace; readonly state: ObjectState };

/**
 * Calls every operation with every parameter that can name a resource, as every actor, with objects of every
 * owner. Others' objects must answer byte for byte like absent ones, apart from the request's id and the
 * requested id.
 */
export async function runIsolationMatrix(
  all: TwoOrganisations,
  selection: MatrixSelection,
): Promise<MatrixReport> {
  const { places, unsorted } = referencePlaces();
  const chosen = places.filter(
    // A sign-in has no caller, and only sessions are switched; both have tests of their own.
    ({ operation }) => !signIns.has(operation) && operation !== "switchOrganisation",
  );
  // Filters first: later refusals leave the requested id in one's own audit trail.
  chosen.sort((one, other) => Number(other.where === "query") - Number(one.where === "query"));
  const ledger = new LeakLedger();
  const failures: string[] = [];
  const failedKinds = new Set<ReferenceKind>();
  const rows = chosen.flatMap((place) =>
    selection.actors
      .filter((actor) => selection.place?.(place, actor) ?? true)
      .map((actor) => ({
        place,
        actor,
        states: objectStates(place, actor, all).filter((state) => selection.state?.(state) ?? true),
      })),
  );
  const cellsInSpec = rows.reduce((sum, row) => sum + row.states.length, 0);
  let cellsRun = 0;
  for (const { place, actor, states } of rows) {
    const absent = await callCell({ place, actor, state: { name: "absent", id: absentId(place) } }, all);
    for (const state of states) {
      const cell = { place, actor, state };
      const where = `${place.operation} ${place.where} ${place.name} ${state.name}`;
      const { answer, sent } = await callCell(cell, all);
      cellsRun += 1;
      ledger.note(actor, where, answer, sent);
      const defect = judge(cell, answer, sent, absent);
      if (defect === null) continue;
      failures.push(`${where} as ${actor.name}: ${defect}; ${answer.status} ${answer.text.slice(0, 300)}`);
      failedKinds.add(place.kind);
    }
  }
  failures.push(...ledger.leaks());
  return { cellsRun, cellsInSpec, unsorted, failures, failedKinds };
}

type Called = { readonly answer: RawAnswer; readonly sent: readonly string[] };

async function callCell({ place, actor, state }: Cell, all: TwoOrganisations): Promise<Called> {
  const call = await buildCall({ place, actor, state }, all);
  const answer = await callOperation(await callerOf({ place, actor, state }, all), call);
  return { answer, sent: [...Object.values(call.path), state.id] };
}

/** A call that is going to end the session that other cells call with is made by a person of its own. */
async function callerOf({ place, actor, state }: Cell, { world }: TwoOrganisations): Promise<ApiCaller> {
  const info = operations[place.operation];
  const endsSession = info.permission === "session" && needsNewPerson(info.id);
  if (state.name !== "own" || !endsSession || !isPermitted(actor, place)) return actor.caller;
  const personal = await personalCall(info, actor.side, world);
  return personal?.caller.at(actor.caller.app) ?? actor.caller;
}

async function buildCall({ place, actor, state }: Cell, all: TwoOrganisations): Promise<OperationCall> {
  const info = operations[place.operation];
  const recipe = recipes[place.operation];
  // Only a call that is going to succeed needs objects that it may use up.
  const willSucceed = state.name === "own" && isPermitted(actor, place);
  const made = willSucceed ? await recipe.path?.(actor.side, all) : undefined;
  const path: Record<string, string> = { ...(made ?? standingPath(info, actor.side, all)) };
  const headers: Record<string, string> = {};
  if (actor.kind === "operator" && info.headerParameters.includes("Kule-Organisation"))
    headers["Kule-Organisation"] = actor.side.tenant.id;
  const query: Record<string, string> = {};
  let body = recipe.body === undefined ? undefined : structuredClone(await recipe.body(actor.side, all));
  if (place.where === "path") {
    if (!(state.name === "own" && made !== undefined)) path[place.name] = state.id;
    if (state.network !== undefined) path.network_id = state.network;
  } else if (place.where === "header") headers[place.name] = headerSafe(state.id);
  else if (place.where === "query") query[place.name] = state.id;
  else {
    const id = (willSucceed && (await unusedObject(place, actor, body))) || state.id;
    body = withValueAt(bodySchema(place.operation) ?? {}, body, place.name, id);
  }
  // A foreign region alone decides the answer; a subnet of another region would be one more error.
  if (place.kind === "region" && place.where === "body" && state.name !== "own")
    for (const name of ["subnet_id", "ssh_key_ids"]) Reflect.deleteProperty(body as object, name);
  return { operation: place.operation, path, query, headers, body };
}

/** An object for a parameter that a successful call uses up, so that every such call needs its own. */
async function unusedObject(
  { kind, operation }: ReferencePlace,
  { side }: Actor,
  body: unknown,
): Promise<string | null> {
  const { network_id: network, server_id: server } = body as { network_id?: string; server_id?: string };
  // A network has one gateway, which serves subnets of that network; and what is forwarded goes to a server behind it.
  if (kind === "network" && operation === "createGateway") return side.tenant.addNetwork();
  if (kind === "subnet" && operation === "createGateway") return side.tenant.addSubnet(network ?? "");
  if (kind === "subnet" && operation === "attachGatewaySubnet")
    return side.tenant.addSpareSubnet(side.standing.network);
  if (kind === "server" && operation === "createPortForward") return server ?? null;
  // A server in the subnet is affected by the firewall, and has an open job from then on.
  if (kind === "subnet" && operation === "attachFirewall")
    return side.tenant.addSubnet(side.standing.network);
  if (kind === "public_ip") return side.tenant.addPublicIp();
  if (kind === "server") return side.tenant.addRunningServer({ subnet_id: side.standing.subnet });
  return null;
}

function judge({ place, actor, state }: Cell, answer: RawAnswer, sent: readonly string[], absent: Called) {
  const same = () => {
    const mine = normalised(withoutOwnAttempts(answer), sent);
    const theirs = normalised(withoutOwnAttempts(absent.answer), absent.sent);
    return mine === theirs ? null : `differs from absent: ${mine.slice(0, 400)} / ${theirs.slice(0, 400)}`;
  };
  const expect = (status: number) => (answer.status === status ? same() : `expected ${status}`);
  if (actor.kind === "nobody") return expect(401);
  if (!isPermitted(actor, place)) return expect(403);
  // A token of an operator is no person, whatever it names.
  if (state.name === "own" && actor.kind === "operator" && ofSessions.has(place.operation))
    return expect409(answer);
  if (state.name === "own") return answer.status < 300 ? emptiness(place, answer) : "refused its own";
  switch (place.where) {
    case "path":
      return expect(404);
    case "header":
      return expect(422);
    case "query":
      return judgeQuery(place, state, answer, same);
    case "body":
      if (answer.status !== 422) return "expected 422";
      if (!pointsAt(answer, place.name)) return `does not point at ${place.name}`;
      // Text that cannot be an id is refused by the contract, each in its own words.
      return state.name.startsWith("malformed") ? null : same();
  }
}

const expect409 = ({ status }: RawAnswer) => (status === 409 ? null : "expected 409");

function judgeQuery(place: ReferencePlace, state: ObjectState, answer: RawAnswer, same: () => string | null) {
  if (place.kind === "cursor") {
    // A position in time reveals nothing; the rows after it are checked by the ledger.
    if (state.name === "foreign" || state.name === "absent")
      return answer.status === 200 || answer.status === 422 ? null : "expected 200 or 422";
    return answer.status === 422 ? null : "expected 422";
  }
  if (answer.status === 422 && state.name.startsWith("malformed")) return null;
  if (answer.status !== 200) return "expected 200";
  return state.name.startsWith("malformed") ? null : same();
}

/**
 * A filter for one's own objects must find something, or the test would not notice that it finds nothing of
 * others.
 */
function emptiness(place: ReferencePlace, answer: RawAnswer): string | null {
  if (place.kind !== "resource" && place.kind !== "cursor") return null;
  const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
  // Other lists have a line for each, and of those that are tables the first is of names.
  const found = isJson
    ? (JSON.parse(answer.text) as { items: unknown[] }).items.length
    : answer.text.trim().split("\n").length - (answer.text.startsWith("{") ? 0 : 1);
  return found > 0 ? null : "found nothing";
}

export function isPermitted(actor: Actor, place: Pick<ReferencePlace, "operation">): boolean {
  const { permission } = operations[place.operation];
  return permission === "authenticated" || permission === "public" || actor.permissions.has(permission);
}

const noise = new Set(["x-request-id", "date", "content-length"]);

/** All of an answer but what must differ. */
function normalised({ status, headers, text }: RawAnswer, sent: readonly string[]): string {
  const kept = [...headers].filter(([name]) => !noise.has(name) && !name.startsWith("ratelimit"));
  // A summary names the time until which it counted: now.
  let rest = `${status} ${JSON.stringify(kept)} ${text}`.replaceAll(/"(request_id|to)":"[^"]*"/g, '"$1":""');
  const spellings = sent.flatMap((id) => [encodeURIComponent(id), id, JSON.stringify(id).slice(1, -1)]);
  for (const id of spellings.sort((one, other) => other.length - one.length))
    if (id !== "") rest = rest.replaceAll(id, "<id>");
  return rest;
}

function pointsAt(answer: RawAnswer, pointer: string): boolean {
  const { errors = [] } = JSON.parse(answer.text) as { errors?: { pointer: string }[] };
  // A list that was refused as a whole, or its first item, which is the one that was inserted.
  const wanted = [pointer.replace(/\/\*$/, ""), pointer].map((each) => each.replaceAll("/*", "/0"));
  return errors.some((error) =>
    wanted.some((each) => error.pointer === each || error.pointer.startsWith(`${each}/`)),
  );
}

/** The body with the id at the pointer. An object that may have only one property loses its other one. */
function withValueAt(schema: JsonSchema, body: unknown, pointer: string, id: string): unknown {
  const [, name, ...more] = pointer.split("/");
  if (name === undefined) return id;
  const rest = more.map((part) => `/${part}`).join("");
  const own = resolved(schema);
  if (name === "*") {
    const [first, ...others] = (body as unknown[] | undefined) ?? [];
    return [withValueAt(own.items ?? {}, first, rest, id), ...others];
  }
  const there = (body ?? {}) as Record<string, unknown>;
  const value = withValueAt(own.properties?.[name] ?? {}, there[name], rest, id);
  return own.maxProperties === 1 ? { [name]: value } : { ...there, [name]: value };
}

/** Headers carry bytes; what does not fit in one is sent as the UTF-8 that a client would send. */
const headerSafe = (text: string) => Buffer.from(text.replaceAll("\0", "")).toString("latin1");

function absentId(place: ReferencePlace): string {
  if (place.kind === "region") return "nowhere-1";
  return newId(prefixes[place.kind] ?? "srv");
}

const prefixes: { readonly [kind: string]: Parameters<typeof newId>[0] } = {
  organisation: "org",
  member: "mem",
  invitation: "inv",
  token: "tok",
  login_session: "tok",
  passkey: "psk",
  identity: "idn",
  agent_token: "tok",
  ssh_key: "key",
  network: "net",
  subnet: "sub",
  server: "srv",
  console_session: "con",
  gateway: "gw",
  port_forward: "pf",
  firewall: "fw",
  firewall_rule: "fwr",
  firewall_attachment: "fwa",
  domain: "dom",
  load_balancer: "lb",
  listener: "lsn",
  target: "tgt",
  job: "job",
};
