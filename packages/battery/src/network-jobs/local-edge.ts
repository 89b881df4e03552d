import { LinuxEdge } from "@kule/edge/linux-edge";
import type { Command, CommandResult, Runner } from "@kule/edge/runner";
import { LocalScene } from "../job-kinds/local-scene.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { viewOfEdge } from "./edge-view.ts";

type Answer = () => Promise<CommandResult>;

/** How an edge misbehaves. */
export type EdgeFault = {
  readonly at: "looks" | "changes";
  /** Commands that meet it. */
  readonly count: number;
  act(run: Answer, command: Command): Promise<CommandResult>;
};

/** An edge's runner whose commands can be made to fail. */
export class FaultyRunner implements Runner {
  readonly #runner: Runner;
  #fault: EdgeFault | null = null;
  #left = 0;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  meet(fault: EdgeFault): void {
    this.#fault = fault;
    this.#left = fault.count;
  }

  clear(): void {
    this.#fault = null;
  }

  run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    const run = () => this.#runner.run(command, signal);
    const fault = this.#fault;
    if (fault === null || this.#left === 0 || fault.at !== (changes(command) ? "changes" : "looks"))
      return run();
    this.#left -= 1;
    return fault.act(run, command);
  }
}

/** Commands of nft for an unused network change nothing. */
function changes({ words }: Command): boolean {
  const line = words.join(" ");
  if (line.startsWith("unshare")) return false;
  return /nft -j -f/.test(line) || !/-j|sysctl -e/.test(line);
}

/** The API and an agent in one process, in a region whose edge is real. */
export function useLocalEdge<T>(
  testbed: EdgeTestbed,
  work: (scene: LocalScene, runner: FaultyRunner) => Promise<T>,
): Promise<T> {
  const runner = new FaultyRunner(testbed.runner);
  const edge = new LinuxEdge(runner, testbed.wiring);
  return LocalScene.use(
    async (scene) => {
      scene.edge = viewOfEdge(testbed, scene.region);
      const { status, body } = await scene.agentApi.post("/agent/health", {
        agent_version: "0.0.0",
        hypervisor: { kind: "proxmox", reachable: true },
        edge: { reachable: true, networks: [] },
      });
      if (status !== 200) throw new Error(`health was answered ${status} ${JSON.stringify(body)}`);
      return work(scene, runner);
    },
    ({ world }) => ({ ...world, edge }),
  );
}
