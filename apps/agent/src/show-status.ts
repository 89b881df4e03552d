// `kule-agent status`, for people and for programs.

import { type AgentStatus, isRunning, readStatus } from "./status-file.ts";

/** Of the unit's StateDirectory. */
const USUAL_STATE_FOLDER = "/var/lib/kule-agent";
/** As systemctl's for a unit that does not run. */
const EXIT_NOT_RUNNING = 3;
const EXIT_WRONG = 1;

export type Shown = { readonly text: string; readonly exit: number };

export function showStatus(
  directory: string | null,
  environment: Readonly<Record<string, string | undefined>>,
  { json, now }: { readonly json: boolean; readonly now: number },
): Shown {
  const folder = directory ?? (environment.KULE_AGENT_STATE?.trim() || USUAL_STATE_FOLDER);
  let status: AgentStatus | null;
  try {
    status = readStatus(folder);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return {
      text: `the status in ${folder} cannot be read: ${what}\n    fix: call it as root or as the agent's user, and name the agent's state folder with --state\n`,
      exit: EXIT_WRONG,
    };
  }
  const running = status !== null && isRunning(status);
  const exit = running ? 0 : EXIT_NOT_RUNNING;
  if (json) return { text: `${JSON.stringify({ running, status })}\n`, exit };
  if (status === null)
    return {
      text: `no agent has run with the state folder ${folder}\n    fix: start it (systemctl start kule-agent), or name its folder with --state\n`,
      exit,
    };
  return { text: table(status, running, now), exit };
}

function table(status: AgentStatus, running: boolean, now: number): string {
  const { last_claim: claim, last_health: health, control_plane_trouble: trouble } = status;
  const ago = (time: string) => spanOf(now - Date.parse(time));
  const state = running
    ? `works, process ${status.pid}, for ${ago(status.started_at)}`
    : status.state === "stopped"
      ? `was stopped ${ago(status.written_at)} ago`
      : `does not run: process ${status.pid} ended by itself; it last wrote this ${ago(status.written_at)} ago`;
  const lines: (readonly [string, string])[] = [
    ["agent", `${status.name}, version ${status.version}`],
    ["state", state],
    ["region", status.region],
    [
      "control plane",
      `${status.control_plane} ${trouble === null ? "takes this agent's calls" : `does not: ${trouble}`}`,
    ],
    ["key", keyWords[health?.keyUse ?? "unknown"]],
    [
      "last health",
      health === null
        ? "none yet"
        : `${ago(health.at)} ago: ${health.region}${health.undelivered === null ? "" : `; not delivered: ${health.undelivered}`}`,
    ],
    ["last claim", claim === null ? "none yet" : `${ago(claim.at)} ago: ${claim.kind} ${claim.job}`],
    ...(status.jobs.length === 0
      ? [["jobs", "none"] as const]
      : status.jobs.map(
          ({ id, kind, since, step }, index) =>
            [
              index === 0 ? "jobs" : "",
              `${kind} ${id} for ${ago(since)}${step === null ? "" : `: ${step}`}`,
            ] as const,
        )),
    ["update", updateInWords(status, ago)],
  ];
  return `${lines.map(([name, text]) => `${name.padEnd(15)}${text}`).join("\n")}\n`;
}

function updateInWords({ update }: AgentStatus, ago: (time: string) => string): string {
  // Written by a version that knew nothing of updates.
  if (update === undefined) return "unknown";
  const { hindrance, wanted, progress } = update;
  const parts = [
    ...(hindrance === null ? [] : [`not by itself: ${hindrance}`]),
    ...(wanted === null ? [] : [`the control plane wants ${wanted}`]),
    ...(progress === null
      ? []
      : [
          `${progress.version} ${progress.state.replaceAll("_", " ")}, ${ago(progress.at)} ago${progress.message == null ? "" : `: ${progress.message}`}`,
        ]),
  ];
  return parts.length === 0 ? "nothing to do" : parts.join("; ");
}

const keyWords = {
  in_use: "secrets are sealed to this agent's key",
  waits_for_approval: "an operator has to approve this agent's key: the region has another one",
  unknown: "the control plane has not said whether it uses this agent's key",
} as const;

function spanOf(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
