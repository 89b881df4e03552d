// The moves of a conformance sequence. Servers and jobs are identified by numbers, because each side has ids
// of its own.

import type { PayloadOf, Schemas, ServerJobKind, ServerPayload } from "@kule/contract/schemas";
import { ipStatus } from "../reference-model/public-ips.ts";
import type { ModelJob, ModelServer } from "../reference-model/types.ts";
import { type ControlPlaneModel, FIRST_PORT } from "./control-plane.ts";
import type { Dice } from "./dice.ts";
import {
  adoptServer,
  askOfServer,
  attachFirewall,
  attachPublicIp,
  cancelDeletion,
  cancelJob,
  changeFirewall,
  createServer,
  deleteServer,
  detachFirewall,
  detachPublicIp,
  type FirewallAnswer,
  type IpAnswer,
  type JobAnswer,
  purgeServer,
  retryJob,
  type ServerAnswer,
  type ServerRequest,
} from "./model-requests.ts";

export type Report = Omit<Schemas["StepReport"], "epoch" | "seq">;

export type Move =
  | { readonly do: "create"; readonly start: boolean }
  | { readonly do: "delete" | "purge" | "keep" | "expire"; readonly server: number }
  | { readonly do: "ask"; readonly server: number; readonly wish: ServerRequest }
  | { readonly do: "adopt"; readonly vmid: number; readonly name: string }
  | { readonly do: "attach"; readonly ip: number; readonly server: number; readonly force: boolean }
  | { readonly do: "detach"; readonly ip: number }
  | { readonly do: "filter" | "unfilter"; readonly firewall: number; readonly server: number }
  | { readonly do: "change-rule"; readonly firewall: number; readonly port: number }
  | { readonly do: "cancel" | "retry" | "pass-lease" | "pass-backoff"; readonly job: number }
  | { readonly do: "claim"; readonly claimId: string; readonly capabilities: readonly ServerJobKind[] }
  | {
      readonly do: "report";
      readonly job: number;
      readonly epoch: number;
      readonly seq: number;
      readonly report: Report;
    }
  | { readonly do: "reap" };

/** The answer of both sides to a move, with numbers for ids. */
export type MoveAnswer = Readonly<Record<string, unknown>>;

export const KINDS: readonly ServerJobKind[] = [
  "ServerCreate",
  "ServerStop",
  "ServerRestore",
  "ServerDestroy",
  "ServerPower",
  "ServerResize",
  "ServerRebuild",
  "ServerPasswordReset",
  "ServerUpdate",
  "ServerAdopt",
  "PublicIpAttach",
  "PublicIpDetach",
  "FirewallApply",
];
const MOST_SERVERS = 3;

export function drawMove(model: ControlPlaneModel, dice: Dice, before: readonly Move[]): Move {
  const { state } = model;
  const { servers, jobs } = state;
  const room = state.vmidsLeft > 0;
  if (servers.length === 0 || (servers.length < MOST_SERVERS && room && dice.chance(0.08)))
    return { do: "create", start: dice.chance(0.7) };
  const server = dice.whole(1, servers.length);
  const job = dice.whole(1, jobs.length);
  const running = jobs.filter((each) => each.status === "running");
  const held =
    running.length > 0 && dice.chance(0.8) ? running[dice.whole(0, running.length - 1)] : jobs[job - 1];
  const kind = dice.whole(0, 99);
  if (state.firewalls.length > 0 && dice.chance(0.12)) return drawFirewall(model, dice, server);
  if (kind < 20) return drawClaim(dice, before);
  if (kind < 50 && held !== undefined) return drawReport(dice, held);
  if (kind < 65) return { do: "ask", server, wish: drawRequest(model, dice) };
  if (kind < 70) return { do: "attach", ip: drawIp(model, dice), server, force: dice.chance(0.5) };
  if (kind < 73) return { do: "detach", ip: drawIp(model, dice) };
  if (kind < 74 && servers.length < MOST_SERVERS) return drawAdoption(model, dice);
  if (kind < 77) return { do: "delete", server };
  if (kind < 78) return { do: "purge", server };
  if (kind < 81) return { do: "keep", server };
  if (kind < 84) return { do: "expire", server };
  if (kind < 87) return { do: "cancel", job };
  if (kind < 91) return { do: "retry", job };
  if (kind < 94) return { do: "pass-lease", job: held?.number ?? job };
  if (kind < 98) return { do: "pass-backoff", job };
  return { do: "reap" };
}

function drawFirewall({ state }: ControlPlaneModel, dice: Dice, server: number): Move {
  const firewall = dice.whole(1, state.firewalls.length);
  const what = dice.pick<"filter" | "unfilter" | "change-rule">([
    "filter",
    "filter",
    "unfilter",
    "change-rule",
  ]);
  return what === "change-rule"
    ? { do: what, firewall, port: dice.whole(FIRST_PORT, FIRST_PORT + 3) }
    : { do: what, firewall, server };
}

const drawIp = ({ state }: ControlPlaneModel, dice: Dice) => dice.whole(1, state.ips.length);

function drawRequest({ state }: ControlPlaneModel, dice: Dice): ServerRequest {
  switch (
    dice.pick(["power", "power", "power", "resize", "resize", "rebuild", "password", "rename", "protect"])
  ) {
    case "power": {
      const action = dice.pick<"start" | "shutdown" | "stop" | "reboot" | "reset">([
        "start",
        "shutdown",
        "stop",
        "reboot",
        "reset",
      ]);
      return { to: "power", action, timeoutSeconds: dice.pick([5, 60]), force: dice.chance(0.2) };
    }
    case "resize":
      return {
        to: "resize",
        slug: dice.pick(["s", "m", "l"]),
        allowRestart: dice.chance(0.7),
        growDisk: dice.chance(0.5),
      };
    case "rebuild":
      return { to: "rebuild", image: dice.pick(["ubuntu-24.04", "rocky-9"]) };
    case "password":
      return { to: "password", when: dice.pick(["now", "next_boot"]) };
    case "rename": {
      const names = state.servers.map(({ name }) => name);
      return { to: "update", name: dice.pick(["alpha", "beta", ...names]) };
    }
    default:
      return { to: "update", protection: { delete: dice.chance(0.2), rebuild: dice.chance(0.3) } };
  }
}

/** Of free numbers mostly, of given out and former ones now and then. */
function drawAdoption({ state }: ControlPlaneModel, dice: Dice): Move {
  const { first, last } = state.settings.vmidRange;
  const vmid = dice.whole(first, Math.min(last, first + 5));
  return { do: "adopt", vmid, name: dice.pick(["alpha", "gamma"]) };
}

function drawClaim(dice: Dice, before: readonly Move[]): Move {
  const earlier = before.flatMap((move) => (move.do === "claim" ? [move.claimId] : []));
  const again = earlier.length > 0 && dice.chance(0.35);
  const claimId = again
    ? (earlier[dice.whole(0, earlier.length - 1)] ?? "")
    : `claim-${before.length}-${dice.hex(6)}`;
  const capabilities = dice.chance(0.8) ? KINDS : KINDS.filter(() => dice.chance(0.5));
  return { do: "claim", claimId, capabilities };
}

function drawReport(dice: Dice, job: ModelJob): Move {
  const epoch = Math.max(0, job.epoch - (dice.chance(0.15) ? 1 : 0));
  const number = Math.max(0, job.lastSeq + dice.pick([1, 1, 1, 1, 2, 0, 0, -1]));
  const hasEarlier = number > job.lastSeq && dice.chance(0.3);
  // An earlier step has a number too.
  const seq = number + (hasEarlier ? 1 : 0);
  const report: Report = {
    ...(dice.chance(0.6) ? { phase: dice.pick(["observe", "plan", "apply", "verify"]) } : {}),
    ...(dice.chance(0.4) ? { progress: dice.whole(0, 100) } : {}),
    ...(dice.chance(0.1) ? { irreversible: true } : {}),
    ...(hasEarlier ? { earlier_steps: [{ phase: dice.pick(["plan", "apply"]), ...drawStep(dice) }] } : {}),
    ...(dice.chance(0.6) ? { step: drawStep(dice) } : {}),
    ...(dice.chance(0.45) ? { outcome: drawOutcome(dice, job) } : {}),
  };
  return { do: "report", job: job.number, epoch, seq, report };
}

function drawStep(dice: Dice): Schemas["ReportedStep"] {
  return {
    name: dice.pick(["observe", "clone", "verify"]),
    status: dice.pick(["running", "running", "succeeded", "skipped", "failed"]),
  };
}

function drawOutcome(dice: Dice, job: ModelJob): Schemas["JobOutcome"] {
  const status = dice.pick<Schemas["JobOutcome"]["status"]>([
    "succeeded",
    "succeeded",
    "succeeded",
    "failed",
    "cancelled",
    "retry",
    "released",
  ]);
  const power = dice.pick<"on" | "off" | "unknown" | null>(["on", "off", "unknown", null]);
  const unusable =
    status === "failed" && dice.chance(0.4)
      ? dice.pick<"taken" | "quarantined">(["taken", "quarantined"])
      : null;
  const hasError = status !== "succeeded" && dice.chance(0.7);
  const isPublic = job.kind === "PublicIpAttach" || job.kind === "PublicIpDetach";
  const network = isPublic ? dice.pick<"applied" | "next_boot" | null>(["applied", "next_boot", null]) : null;
  // No two servers of the region have one.
  const macs =
    job.kind === "ServerAdopt" && dice.chance(0.8) ? [`0e:aa:00:00:00:${hexOf(job.number)}`] : null;
  const filter =
    job.filterGiven === null
      ? null
      : dice.pick<string | null>([GIVEN, GIVEN, GIVEN, GIVEN, "none", "other", null]);
  const diskGb = job.kind === "ServerResize" ? dice.pick([null, 40, 80, 160, 200]) : null;
  const observed = {
    ...(diskGb === null ? {} : { disk_bytes: diskGb * 2 ** 30 }),
    ...(power === null ? {} : { power_state: power }),
    ...(unusable === null ? {} : { vmid_unusable: unusable }),
    ...(network === null ? {} : { public_network: network }),
    ...(macs === null ? {} : { macs }),
    ...(filter === null ? {} : { filter }),
  };
  return {
    status,
    ...(Object.keys(observed).length === 0 ? {} : { observed }),
    ...(hasError ? { error: { code: "some_trouble", message: "It did not work" } } : {}),
  };
}

const hexOf = (number: number) => number.toString(16).padStart(2, "0");

/** In a move: the filter that was in the job's payload, which each side names in its own way. */
const GIVEN = "given";

/** The report with the filter id of one of the sides. */
export function withFilterOf(report: Report, given: string | null): Report {
  const outcome = report.outcome as Schemas["JobOutcome"] | undefined;
  if (outcome?.observed?.filter !== GIVEN) return report;
  return { ...report, outcome: { ...outcome, observed: { ...outcome.observed, filter: given ?? "none" } } };
}

/** A server and its job as both sides show them. */
export function shown(
  server: { status: string; power: string },
  job: { kind: string; status: string } | null,
): MoveAnswer {
  return { server: server.status, power: server.power, kind: job?.kind ?? null, job: job?.status ?? null };
}

/** A pending address, its server and the job, as both sides show them. */
export function shownIp(
  ip: string,
  server: { status: string },
  job: { kind: string; status: string },
): MoveAnswer {
  return { status: 202, ip, server: server.status, kind: job.kind, job: job.status };
}

/** How many servers get a job after a change of a firewall. */
function ofFirewall(answer: FirewallAnswer): MoveAnswer {
  return "code" in answer
    ? { status: answer.status, code: answer.code }
    : { status: answer.status, jobs: answer.body.jobs.length };
}

function ofIp(answer: IpAnswer): MoveAnswer {
  if ("code" in answer) return { status: answer.status, code: answer.code };
  const { ip, server, job } = answer.body;
  return shownIp(ipStatus(ip), server, job);
}

export function playOnModel(model: ControlPlaneModel, move: Move): MoveAnswer {
  const { state } = model;
  const server = (number: number): ModelServer | undefined => state.servers[number - 1];
  const job = (number: number): ModelJob | undefined => state.jobs[number - 1];
  const ofServer = (answer: ServerAnswer): MoveAnswer =>
    "code" in answer
      ? { status: answer.status, code: answer.code }
      : { status: answer.status, ...shown(answer.body.server, answer.body.job) };
  const ofJob = (answer: JobAnswer): MoveAnswer =>
    "code" in answer
      ? { status: answer.status, code: answer.code }
      : { status: answer.status, job: answer.body.job.status };
  switch (move.do) {
    case "create":
      return ofServer(createServer(model, move.start));
    case "ask":
      return ofServer(askOfServer(model, server(move.server), move.wish));
    case "adopt":
      return ofServer(adoptServer(model, move.vmid, move.name));
    case "attach":
      return ofIp(attachPublicIp(model, move.ip, server(move.server), move.force));
    case "detach":
      return ofIp(detachPublicIp(model, move.ip));
    case "filter":
      return ofFirewall(attachFirewall(model, move.firewall, server(move.server)));
    case "unfilter":
      return ofFirewall(detachFirewall(model, move.firewall, server(move.server)));
    case "change-rule":
      return ofFirewall(changeFirewall(model, move.firewall, move.port));
    case "purge":
      return ofServer(purgeServer(model, server(move.server)));
    case "delete":
      return ofServer(deleteServer(model, server(move.server)));
    case "keep":
      return ofServer(cancelDeletion(model, server(move.server)));
    case "expire": {
      const found = server(move.server);
      if (found !== undefined && found.purgeAt !== null) found.purgeAt = state.now();
      return { expired: model.expireBuffer(found?.id ?? "") };
    }
    case "cancel":
      return ofJob(cancelJob(model, job(move.job)));
    case "retry":
      return ofJob(retryJob(model, job(move.job)));
    case "pass-lease": {
      const found = job(move.job);
      if (found?.status === "running") found.leaseUntil = state.now() - 1;
      return {};
    }
    case "pass-backoff": {
      const found = job(move.job);
      if (found?.status === "queued") found.runAt = state.now();
      return {};
    }
    case "reap":
      return { reaped: model.expireLeases() };
    case "claim": {
      const claimed = model.claim({
        claim_id: move.claimId,
        agent_version: "0.0.0",
        capabilities: [...move.capabilities],
      });
      if (claimed === null) return { status: 204 };
      const { id, kind, attempt, epoch, cancel_requested, payload } = claimed;
      const ips = new Map(state.ips.map(({ address, number }) => [address.address, number]));
      const number = state.job(id)?.number ?? 0;
      return claimAnswer(number, { kind, attempt, epoch, cancel_requested, payload }, ips);
    }
    case "report": {
      const { epoch, seq } = move;
      const of = job(move.job);
      const report = withFilterOf(move.report, of?.filterGiven ?? null);
      const answer = model.report(of?.id ?? "", { epoch, seq, ...report });
      return "code" in answer
        ? { status: answer.status, code: answer.code }
        : reportAnswer(answer.status, answer.body);
    }
  }
}

export function claimAnswer(
  job: number,
  claimed: Pick<Schemas["ClaimedJob"]["job"], "kind" | "attempt" | "epoch" | "cancel_requested" | "payload">,
  ips: ReadonlyMap<string, number>,
): MoveAnswer {
  const { kind, attempt, epoch, cancel_requested, payload } = claimed;
  return {
    status: 200,
    job,
    kind,
    attempt,
    epoch,
    cancel_requested,
    ...whatIsWanted(payload as ServerPayload, ips),
  };
}

type PartOfCreate = "interfaces" | "public_interface" | "package" | "password_hash" | "filter";

/** The parts of a payload that both sides name in the same way. */
function whatIsWanted(payload: ServerPayload, ips: ReadonlyMap<string, number>) {
  const all = payload as Partial<Pick<PayloadOf<"ServerCreate">, PartOfCreate>> &
    Readonly<Record<string, unknown>>;
  const told = [
    "vmid",
    "start",
    "action",
    "timeout_seconds",
    "force_after",
    "run",
    "when",
    "username",
    "template",
  ];
  const { interfaces, public_interface: outside, package: size, password_hash: password, filter } = all;
  return {
    ...Object.fromEntries(told.map((key) => [key, all[key] ?? null])),
    name: payload.server.name,
    size: size === undefined ? null : `${size.vcpu} ${size.memory_mb} ${size.disk_gb}`,
    // A MAC begins with the region's number, which only one side has.
    macs: interfaces?.map(({ mac }) => mac.slice(-8).toLowerCase()),
    outwards: interfaces?.map(({ gateway }) => gateway !== null),
    ips: outside?.addresses.map(({ address }) => ips.get(address) ?? address),
    guest: all.guest_network,
    password: password === undefined ? null : password !== null,
    takenOver: all.taken_over,
    ports: filter?.rules.flatMap(({ ports }) => ports).sort(),
    filtered: filter?.is_filtered,
  };
}

export function reportAnswer(status: number, body: Schemas["StepAck"]): MoveAnswer {
  const { cancel_requested, lease_expires_at } = body;
  return { status, job: body.status, cancel_requested, leased: lease_expires_at !== null };
}
