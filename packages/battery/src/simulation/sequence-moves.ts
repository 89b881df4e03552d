// The moves of a conformance sequence. Servers and jobs go by their numbers, since both sides name them themselves.

import type { JobKind, Schemas } from "@kule/contract/schemas";
import type { ControlPlaneModel, ModelAnswer } from "./control-plane.ts";
import type { Dice } from "./dice.ts";
import type { ModelJob, ModelServer } from "./model-state.ts";

export type Report = Omit<Schemas["StepReport"], "epoch" | "seq">;

export type Move =
  | { readonly do: "create"; readonly start: boolean }
  | { readonly do: "delete" | "keep" | "expire"; readonly server: number }
  | { readonly do: "cancel" | "retry" | "pass-lease" | "pass-backoff"; readonly job: number }
  | { readonly do: "claim"; readonly claimId: string; readonly capabilities: readonly JobKind[] }
  | {
      readonly do: "report";
      readonly job: number;
      readonly epoch: number;
      readonly seq: number;
      readonly report: Report;
    }
  | { readonly do: "reap" };

/** What both sides answer to a move, with numbers for names. */
export type MoveAnswer = Readonly<Record<string, unknown>>;

const KINDS: readonly JobKind[] = ["ServerCreate", "ServerStop", "ServerRestore", "ServerDestroy"];
const MOST_SERVERS = 3;

export function drawMove(model: ControlPlaneModel, dice: Dice, before: readonly Move[]): Move {
  const { servers, jobs, vmids, settings } = model.state;
  const room = vmids.size <= settings.vmidRange.last - settings.vmidRange.first;
  if (servers.size === 0 || (servers.size < MOST_SERVERS && room && dice.chance(0.08)))
    return { do: "create", start: dice.chance(0.7) };
  const server = dice.whole(1, servers.size);
  const job = dice.whole(1, jobs.length);
  const running = jobs.filter((each) => each.status === "running");
  const held =
    running.length > 0 && dice.chance(0.8) ? running[dice.whole(0, running.length - 1)] : jobs[job - 1];
  const kind = dice.whole(0, 99);
  if (kind < 24) return drawClaim(dice, before);
  if (kind < 64 && held !== undefined) return drawReport(dice, held);
  if (kind < 70) return { do: "delete", server };
  if (kind < 75) return { do: "keep", server };
  if (kind < 79) return { do: "expire", server };
  if (kind < 83) return { do: "cancel", job };
  if (kind < 87) return { do: "retry", job };
  if (kind < 92) return { do: "pass-lease", job: held?.number ?? job };
  if (kind < 97) return { do: "pass-backoff", job };
  return { do: "reap" };
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
  const seq = Math.max(0, job.lastSeq + dice.pick([1, 1, 1, 1, 2, 0, 0, -1]));
  const report: Report = {
    ...(dice.chance(0.6) ? { phase: dice.pick(["observe", "plan", "apply", "verify"]) } : {}),
    ...(dice.chance(0.4) ? { progress: dice.whole(0, 100) } : {}),
    ...(dice.chance(0.1) ? { irreversible: true } : {}),
    ...(dice.chance(0.6)
      ? {
          step: {
            name: dice.pick(["observe", "clone", "verify"]),
            status: dice.pick(["running", "running", "succeeded", "skipped", "failed"]),
          },
        }
      : {}),
    ...(dice.chance(0.45) ? { outcome: drawOutcome(dice) } : {}),
  };
  return { do: "report", job: job.number, epoch, seq, report };
}

function drawOutcome(dice: Dice): Schemas["JobOutcome"] {
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
  return {
    status,
    ...(power === null && unusable === null
      ? {}
      : {
          observed: {
            ...(power === null ? {} : { power_state: power }),
            ...(unusable === null ? {} : { vmid_unusable: unusable }),
          },
        }),
    ...(hasError ? { error: { code: "some_trouble", message: "It did not work" } } : {}),
  };
}

/** A server and its job as both sides show them. */
export function shown(
  server: { status: string; power: string },
  job: { kind: string; status: string },
): MoveAnswer {
  return { server: server.status, power: server.power, kind: job.kind, job: job.status };
}

export function playOnModel(model: ControlPlaneModel, move: Move): MoveAnswer {
  const { state } = model;
  const server = (number: number): ModelServer | undefined => [...state.servers.values()][number - 1];
  const job = (number: number): ModelJob | undefined => state.jobs[number - 1];
  const ofServer = (answer: ModelAnswer<{ server: ModelServer; job: ModelJob }>): MoveAnswer =>
    "code" in answer
      ? { status: answer.status, code: answer.code }
      : {
          status: answer.status,
          ...shown(
            { status: answer.body.server.status, power: answer.body.server.powerState },
            answer.body.job,
          ),
        };
  const ofJob = (answer: ModelAnswer<ModelJob>): MoveAnswer =>
    "code" in answer
      ? { status: answer.status, code: answer.code }
      : { status: answer.status, job: answer.body.status };
  switch (move.do) {
    case "create":
      return ofServer(model.createServer(move.start));
    case "delete":
      return ofServer(model.deleteServer(server(move.server)?.id ?? ""));
    case "keep":
      return ofServer(model.cancelDeletion(server(move.server)?.id ?? ""));
    case "expire": {
      const found = server(move.server);
      if (found !== undefined && found.purgeAt !== null) found.purgeAt = state.now();
      return { expired: model.expireBuffer(found?.id ?? "") };
    }
    case "cancel":
      return ofJob(model.cancelJob(job(move.job)?.id ?? ""));
    case "retry":
      return ofJob(model.retryJob(job(move.job)?.id ?? ""));
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
      return { reaped: model.reapLeases() };
    case "claim": {
      const claimed = model.claim({
        claim_id: move.claimId,
        agent_version: "0.0.0",
        capabilities: [...move.capabilities],
      });
      if (claimed === null) return { status: 204 };
      const { id, kind, attempt, epoch, cancel_requested, payload } = claimed;
      return claimAnswer(state.job(id)?.number ?? 0, { kind, attempt, epoch, cancel_requested, payload });
    }
    case "report": {
      const { epoch, seq, report } = move;
      const answer = model.report(job(move.job)?.id ?? "", { epoch, seq, ...report });
      return "code" in answer
        ? { status: answer.status, code: answer.code }
        : reportAnswer(answer.status, answer.body);
    }
  }
}

export function claimAnswer(
  job: number,
  claimed: Pick<Schemas["ClaimedJob"]["job"], "kind" | "attempt" | "epoch" | "cancel_requested" | "payload">,
): MoveAnswer {
  const { kind, attempt, epoch, cancel_requested, payload } = claimed;
  const start = "start" in payload ? payload.start : null;
  return { status: 200, job, kind, attempt, epoch, cancel_requested, vmid: payload.vmid, start };
}

export function reportAnswer(status: number, body: Schemas["StepAck"]): MoveAnswer {
  const { cancel_requested, lease_expires_at } = body;
  return { status, job: body.status, cancel_requested, leased: lease_expires_at !== null };
}
