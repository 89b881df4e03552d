import type { Schemas } from "@kule/contract/schemas";
import { type Command, type Given, type Result, UsageError } from "../command.ts";
import type { OperatorApi } from "../operator-api.ts";
import { printable, textTable } from "../text-table.ts";

type Rollout = Schemas["AgentRollout"];

const actions = ["start", "status", "pause", "resume", "cancel"] as const;
type Action = (typeof actions)[number];

/** Between two looks of `--follow`; the control plane takes a step every 30 s. */
const followEveryMs = 5_000;

export const rollOutAgents: Command = {
  noun: "agent",
  verb: "rollout",
  summary:
    "Roll a release of the agent out to all regions, one first; status has exit code 1 when it has stopped",
  positionals: {
    names: "start VERSION|status|pause|resume|cancel",
    about: "what to do with the latest rollout; start begins one",
    least: 1,
    most: 2,
  },
  options: {
    "first-region": { value: "SLUG", about: "start there (default: the region with the fewest servers)" },
    follow: {
      about: "with start and status: print what changes, until the rollout ends, stops or is paused",
    },
  },
  async run(given, api) {
    const { action, version } = readAction(given);
    const begun =
      action === "start"
        ? await start(api, version, given.one("first-region"))
        : await latest(api, action === "status" ? null : action);
    const isFollowed = given.has("follow") && !api.isDryRun;
    return resultOf(isFollowed && begun !== null ? await follow(api, begun) : begun, action === "status");
  },
};

function readAction(given: Given): { readonly action: Action; readonly version: string } {
  const [word = "", version] = given.positionals;
  const action = actions.find((each) => each === word);
  if (action === undefined)
    throw new UsageError(`agent rollout has no ${JSON.stringify(word)}: ${actions.join(", ")}`);
  if ((action === "start") !== (version !== undefined))
    throw new UsageError(
      action === "start"
        ? "agent rollout start needs a VERSION, such as 1.4.0"
        : `agent rollout ${action} takes no version: it is of the latest rollout`,
    );
  if (action !== "start" && given.one("first-region") !== undefined)
    throw new UsageError("--first-region is for start");
  if (given.has("follow") && action !== "start" && action !== "status")
    throw new UsageError("--follow is for start and status");
  return { action, version: version ?? "" };
}

function start(api: OperatorApi, version: string, firstRegion: string | undefined): Promise<Rollout> {
  return api.ask(
    api.client().POST("/agent-rollouts", {
      params: { header: api.once() },
      body: { version, ...(firstRegion === undefined ? {} : { first_region: firstRegion }) },
    }),
  );
}

/** @returns null when there has been none */
async function latest(
  api: OperatorApi,
  change: Exclude<Action, "start" | "status"> | null,
): Promise<Rollout | null> {
  const client = api.client();
  const { items } = await api.ask(client.GET("/agent-rollouts", { params: { query: { limit: 1 } } }));
  const id = items[0]?.id ?? (api.isDryRun ? api.unknownId : undefined);
  if (id === undefined) {
    if (change !== null) throw new UsageError(`there is no rollout to ${change}`);
    return null;
  }
  const path = { agent_rollout_id: id };
  switch (change) {
    case null:
      return api.ask(client.GET("/agent-rollouts/{agent_rollout_id}", { params: { path } }));
    case "pause":
      return api.ask(
        client.POST("/agent-rollouts/{agent_rollout_id}/pause", { params: { path, header: api.once() } }),
      );
    case "resume":
      return api.ask(
        client.POST("/agent-rollouts/{agent_rollout_id}/resume", { params: { path, header: api.once() } }),
      );
    case "cancel":
      return api.ask(
        client.POST("/agent-rollouts/{agent_rollout_id}/cancel", { params: { path, header: api.once() } }),
      );
  }
}

/** Prints each change of a region and of what the rollout waits for, until it does not run any more. */
async function follow(api: OperatorApi, begun: Rollout): Promise<Rollout> {
  let now = begun;
  let told = new Set<string>();
  for (;;) {
    const lines = linesOf(now);
    for (const line of lines) if (!told.has(line)) api.note(line);
    told = new Set(lines);
    if (now.status !== "running") return now;
    await api.pause(followEveryMs);
    now = await api.ask(
      api.client().GET("/agent-rollouts/{agent_rollout_id}", {
        params: { path: { agent_rollout_id: now.id } },
      }),
    );
  }
}

function linesOf(rollout: Rollout): readonly string[] {
  const regions = (rollout.regions ?? []).flatMap(({ region, state, reason, agents }) => {
    if (state === "waiting") return [];
    const updating = state === "offered" ? agents.map(agentText).filter((text) => text !== "") : [];
    return [
      printable(`${region}: ${state}${reason === null ? "" : ` (${reason})`}`),
      ...updating.map((text) => printable(`${region}: ${text}`)),
    ];
  });
  return [...regions, headOf(rollout)];
}

function agentText({ name, update }: Schemas["RegionAgent"]): string {
  if (update === null) return "";
  const why = update.message === null ? "" : ` (${update.message})`;
  return `${name ?? "agent"}: ${update.state} ${update.version}${why}`;
}

function headOf({ version, status, reason, waits_for: waits, waits_until: until }: Rollout): string {
  const why = reason === null ? "" : `: ${printable(reason)}`;
  const waiting =
    waits === null ? "" : `, waits for ${waitWords[waits]}${until === null ? "" : ` until ${until}`}`;
  return `${version}: ${status}${why}${waiting}`;
}

const waitWords = {
  regions: "its regions",
  time: "the time after the first region",
  window: "the window",
  paused_settings: "the end of the pause in the settings",
} as const;

function resultOf(rollout: Rollout | null, isStatus: boolean): Result {
  if (rollout === null) return { json: null, text: () => "there has been no rollout" };
  return {
    json: rollout,
    hasFailed: isStatus && rollout.status === "stopped",
    text: () =>
      [
        `${rollout.id}  ${headOf(rollout)}`,
        textTable(
          ["REGION", "STATE", "OFFERED", "ENDED", "AGENTS", "REASON"],
          (rollout.regions ?? []).map(({ region, state, offered_at, ended_at, agents, reason }) => [
            region,
            state,
            offered_at ?? "-",
            ended_at ?? "-",
            agents.map(({ version }) => version).join(" ") || "-",
            reason ?? "",
          ]),
        ),
      ].join("\n"),
  };
}
