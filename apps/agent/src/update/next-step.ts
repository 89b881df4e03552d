// What the updater does next: a function of what is on disk and of what it has done so far. It may be killed after each step;
// the next one observes and goes on.

import type { Verdict } from "@kule/agent-release/accept-release";
import type { ReleaseFile } from "@kule/agent-release/release";
import { compareVersions, newerOf } from "@kule/agent-release/version";
import {
  type MachineState,
  MOST_BAD_VERSIONS,
  type UpdateReason,
  type UpdateResult,
  type UpdateUnderWay,
} from "./machine-state.ts";

export type Observed = {
  readonly state: MachineState;
  /** The version that the agent's link leads to; null when it leads to no complete version. */
  readonly current: string | null;
  readonly updater: string | null;
  /** Complete ones. */
  readonly versions: readonly string[];
  /** Copies that were interrupted. */
  readonly drafts: readonly string[];
  /** What the agent asks for and was not answered, with what becomes of it by the rules. */
  readonly request: { readonly id: string; readonly version: string; readonly verdict: Verdict } | null;
  /** The version of the agent that runs; null when none does, or when it does not say. */
  readonly running: string | null;
  readonly bootId: string;
  readonly uptimeMs: number;
  readonly now: string;
  /** In this process. */
  readonly done: Done;
};

/** What this updater has done itself, which is on no disk. */
export type Done = {
  /** Whether it has counted itself as an attempt of this update. */
  readonly begun: boolean;
  readonly staged: boolean;
  readonly tried: boolean;
  readonly restarted: boolean;
  /** The end of the watch. */
  readonly watched: WatchEnd | null;
  /** Whether the former version runs again; null as long as nobody has looked. */
  readonly formerRuns: boolean | null;
  /** What went wrong in the last step. */
  readonly trouble: (UpdateReason & { readonly bad: boolean; readonly refused: boolean }) | null;
};

export const NOTHING_DONE: Done = {
  begun: false,
  staged: false,
  tried: false,
  restarted: false,
  watched: null,
  formerRuns: null,
  trouble: null,
};

export type WatchEnd =
  | { readonly kind: "proven" }
  | ({ readonly kind: "bad" } & UpdateReason)
  /** Nobody can tell now: a later updater looks again. */
  | { readonly kind: "open" };

export type Step =
  | { readonly do: "end" }
  | { readonly do: "record"; readonly state: MachineState }
  | { readonly do: "remove"; readonly drafts: readonly string[]; readonly versions: readonly string[] }
  /** The updater is that version from now on. */
  | { readonly do: "point updater"; readonly to: string }
  | { readonly do: "stage"; readonly version: string; readonly file: ReleaseFile }
  | { readonly do: "try"; readonly version: string }
  /** @param back the version that a step back would lead to, made ready; null on the way back */
  | { readonly do: "swap"; readonly to: string; readonly back: string | null }
  | { readonly do: "restart" }
  | { readonly do: "watch"; readonly update: UpdateUnderWay }
  | { readonly do: "look at former"; readonly version: string };

/** An updater that is killed again and again while it prepares, by a machine that has no memory left for example. */
const MOST_ATTEMPTS = 3;
/** A version that takes the machine down with it. */
const MOST_BOOTS = 3;

export function nextUpdateStep(observed: Observed): Step {
  switch (observed.state.phase) {
    case "idle":
      return whenIdle(observed);
    case "preparing":
      return whenPreparing(observed, observed.state.update);
    case "swapping":
      return whenSwapping(observed, observed.state.update);
    case "watching":
      return whenWatching(observed, observed.state.update);
    case "reverting":
      return whenReverting(observed, observed.state.update);
  }
}

function whenIdle(observed: Observed): Step {
  const { state, current, request, bootId } = observed;
  if (observed.drafts.length > 0) return { do: "remove", drafts: observed.drafts, versions: [] };
  // Only what has proven itself is current while nothing is under way.
  if (current !== null && observed.updater !== current) return { do: "point updater", to: current };
  if (request !== null) {
    const { id, version, verdict } = request;
    if (current === null) return ended(observed, { version, request_id: id, state: "failed" }, NO_CURRENT);
    if (verdict.kind === "refused")
      return ended(observed, { version, request_id: id, state: "refused" }, verdict);
    // No agent runs that version: it was asked for by one that has been replaced meanwhile.
    return {
      do: "record",
      state: {
        ...state,
        keys: verdict.keys,
        phase: "preparing",
        update: {
          from: current,
          to: version,
          request_id: id,
          attempts: 0,
          boots: 0,
          boot_id: bootId,
          started_uptime_ms: null,
          since: observed.now,
          reason: null,
        },
      },
    };
  }
  const superfluous = superfluousVersions(observed);
  if (superfluous.length > 0) return { do: "remove", drafts: [], versions: superfluous };
  return { do: "end" };
}

const NO_CURRENT: UpdateReason = {
  code: "not_installed",
  message: "the agent is not installed as updates need it: kule-agent install",
};

function whenPreparing(observed: Observed, update: UpdateUnderWay): Step {
  const { state, request, done, current } = observed;
  const about = { version: update.to, request_id: update.request_id } as const;
  if (done.trouble !== null) {
    const { bad, refused, ...reason } = done.trouble;
    return ended(observed, { ...about, state: refused ? "refused" : "failed" }, reason, bad);
  }
  if (current !== update.from)
    return ended(
      observed,
      { ...about, state: "failed" },
      { code: "changed_meanwhile", message: "another version was installed meanwhile" },
    );
  if (request === null || request.id !== update.request_id)
    return ended(
      observed,
      { ...about, state: "failed" },
      { code: "withdrawn", message: "the agent does not ask for it any more" },
    );
  if (request.verdict.kind === "refused")
    return ended(observed, { ...about, state: "refused" }, request.verdict);
  if (!done.begun) {
    if (update.attempts >= MOST_ATTEMPTS)
      return ended(
        observed,
        { ...about, state: "failed" },
        {
          code: "interrupted",
          message: `${update.attempts} updaters were interrupted while they prepared it`,
        },
        true,
      );
    return {
      do: "record",
      state: { ...state, phase: "preparing", update: { ...update, attempts: update.attempts + 1 } },
    };
  }
  if (!done.staged) return { do: "stage", version: update.to, file: request.verdict.file };
  if (!done.tried) return { do: "try", version: update.to };
  return { do: "record", state: { ...state, phase: "swapping", update: { ...update, since: observed.now } } };
}

function whenSwapping(observed: Observed, update: UpdateUnderWay): Step {
  const { state, current, versions, running, done, bootId, uptimeMs } = observed;
  const { to, from } = update;
  if (!versions.includes(to))
    return reverting(observed, update, {
      code: "version_gone",
      message: `the files of ${to} are not there any more`,
    });
  if (current !== to) return { do: "swap", to, back: from };
  if (!done.restarted && running !== to) return { do: "restart" };
  return {
    do: "record",
    state: {
      ...state,
      phase: "watching",
      update: { ...update, boot_id: bootId, started_uptime_ms: uptimeMs, since: observed.now },
    },
  };
}

function whenWatching(observed: Observed, update: UpdateUnderWay): Step {
  const { state, current, done, bootId, uptimeMs } = observed;
  const { to, request_id, boots } = update;
  // Somebody has taken it back: an updater whose disk was full, or an operator.
  if (current !== to)
    return reverting(observed, update, update.reason ?? { code: "taken_back", message: "it was taken back" });
  if (update.boot_id !== bootId) {
    if (boots + 1 >= MOST_BOOTS)
      return reverting(observed, update, {
        code: "machine_restarts",
        message: `the machine was started ${boots + 1} times before it had proven itself`,
      });
    const since = { boots: boots + 1, boot_id: bootId, started_uptime_ms: uptimeMs };
    return { do: "record", state: { ...state, phase: "watching", update: { ...update, ...since } } };
  }
  if (done.watched === null) return { do: "watch", update };
  switch (done.watched.kind) {
    case "open":
      return { do: "end" };
    case "bad":
      return reverting(observed, update, { code: done.watched.code, message: done.watched.message });
    case "proven":
      return {
        do: "record",
        state: {
          ...state,
          phase: "idle",
          update: null,
          highest_version: newerOf(state.highest_version, to),
          result: {
            version: to,
            request_id,
            state: "done",
            code: null,
            message: null,
            at: observed.now,
          },
        },
      };
  }
}

function whenReverting(observed: Observed, update: UpdateUnderWay): Step {
  const { current, versions, running, done } = observed;
  const { from, to, request_id } = update;
  const reason = update.reason ?? { code: "taken_back", message: "it was taken back" };
  const about = { version: to, request_id } as const;
  if (current !== from) {
    if (!versions.includes(from))
      return ended(
        observed,
        { ...about, state: "failed" },
        { ...reason, message: `${reason.message}; ${from} is not there any more, so ${to} stays` },
        true,
      );
    return { do: "swap", to: from, back: null };
  }
  if (!done.restarted && running !== from) return { do: "restart" };
  if (done.formerRuns === null) return { do: "look at former", version: from };
  const message = done.formerRuns
    ? reason.message
    : `${reason.message}; ${from}, to which it went back, does not start either`;
  return ended(observed, { ...about, state: "rolled_back" }, { ...reason, message }, true);
}

function reverting({ state, now }: Observed, update: UpdateUnderWay, reason: UpdateReason): Step {
  return { do: "record", state: { ...state, phase: "reverting", update: { ...update, since: now, reason } } };
}

/** @param bad the version is not tried again on this machine */
function ended(
  { state, now }: Observed,
  about: Pick<UpdateResult, "version" | "request_id" | "state">,
  { code, message }: UpdateReason,
  bad = false,
): Step {
  const others = state.bad_versions.filter(({ version }) => version !== about.version);
  return {
    do: "record",
    state: {
      ...state,
      phase: "idle",
      update: null,
      bad_versions: bad
        ? [...others, { version: about.version, code, message: clipped(message), at: now }].slice(
            -MOST_BAD_VERSIONS,
          )
        : state.bad_versions,
      result: { ...about, code, message: clipped(message), at: now },
    },
  };
}

const clipped = (message: string): string => message.slice(0, 500);

/** All but the current one and the newest of the others that worked. */
function superfluousVersions({ state, versions, current, updater }: Observed): string[] {
  if (current === null) return [];
  const bad = new Set(state.bad_versions.map(({ version }) => version));
  const others = versions.filter((version) => version !== current && version !== updater);
  const [kept] = others.filter((version) => !bad.has(version)).sort((a, b) => compareVersions(b, a));
  return others.filter((version) => version !== kept);
}
