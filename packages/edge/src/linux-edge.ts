import { applyStep, nftFromInput, type StepContext } from "./apply.ts";
import { checkNetwork, checkWiring } from "./check-network.ts";
import { desiredLinks, desiredSettings, settingsOf } from "./desired-links.ts";
import type { EdgeNetwork, EdgeWiring } from "./edge-network.ts";
import { namespaceOf, networkOfNamespace } from "./names.ts";
import { listNamespaces, observeMachine, observeNetwork, rulesetOf } from "./observe.ts";
import { type EdgeSight, type EdgeStep, planNetwork } from "./plan.ts";
import { type NftObject, renderRuleset } from "./render-ruleset.ts";
import { type CommandHooks, carryOut, output, type Runner } from "./runner.ts";

/** A Linux machine as the edge of a region: a namespace for each private network. */
export class LinuxEdge {
  readonly #runner: Runner;
  readonly #wiring: EdgeWiring;

  /** @throws BadEdgeState for an interface whose name leaves no room for its bridges' names */
  constructor(runner: Runner, wiring: EdgeWiring) {
    checkWiring(wiring);
    this.#runner = runner;
    this.#wiring = wiring;
  }

  /** @throws BadEdgeState, EdgeCommandFailed, EdgeUnreachable */
  async observe(want: EdgeNetwork, signal?: AbortSignal): Promise<EdgeSight> {
    checkNetwork(want);
    const [rules, machine] = await Promise.all([
      this.#asListedByNft(renderRuleset(want), signal),
      observeMachine(this.#runner, signal),
    ]);
    const links = desiredLinks(want, this.#wiring, machine.bridges.has(this.#wiring.uplink.interface));
    const settings = [desiredSettings, ...links.map(settingsOf)].flatMap((each) => Object.keys(each));
    return {
      want,
      rules,
      machine,
      seen: await observeNetwork(this.#runner, want.networkId, machine, settings, signal),
    };
  }

  /** What is missing; nothing when the network is as wanted. @throws Superseded */
  plan(sight: EdgeSight): readonly EdgeStep[] {
    return planNetwork(sight, this.#wiring);
  }

  async apply(step: EdgeStep, { want, rules }: EdgeSight, hooks: CommandHooks = {}): Promise<void> {
    const context: StepContext = { networkId: want.networkId, rules };
    await applyStep(this.#runner, step, context, hooks);
  }

  /** The networks that have a namespace here. */
  async networks(signal?: AbortSignal): Promise<readonly string[]> {
    const names = await listNamespaces(this.#runner, signal);
    return names.flatMap((name) => networkOfNamespace(name) ?? []);
  }

  /**
   * Deletes a network with its links; does nothing when it does not exist. The links first: those of a
   * deleted namespace disappear some time after it, and until then their VLANs cannot be used.
   */
  async remove(networkId: string, hooks: CommandHooks = {}): Promise<void> {
    const { signal } = hooks;
    const namespace = namespaceOf(networkId);
    const seen = await observeNetwork(
      this.#runner,
      networkId,
      await observeMachine(this.#runner, signal),
      [],
      signal,
    );
    if (seen === null) return;
    const lines = seen.links.map(({ name }) => `link del dev ${name}\n`);
    await carryOut(
      this.#runner,
      { words: ["ip", "-n", namespace, "-batch", "-"], input: lines.join("") },
      hooks,
    );
    await carryOut(this.#runner, { words: ["ip", "netns", "del", namespace] }, hooks);
  }

  /**
   * Rules as nft would list them if they were live: it loads them in a temporary namespace, which ends with
   * the command.
   */
  async #asListedByNft(rules: readonly NftObject[], signal?: AbortSignal): Promise<readonly NftObject[]> {
    const listing = await output(
      this.#runner,
      {
        words: ["unshare", "--net", "sh", "-c", `${nftFromInput} && nft -j list ruleset`],
        input: JSON.stringify({ nftables: rules.map((object) => ({ add: object })) }),
      },
      signal,
    );
    return rulesetOf(listing).objects;
  }
}
