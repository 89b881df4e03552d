// DomainApply: makes the DNS provider's zone the wanted one, or deletes it. What the provider has is compared as a whole,
// so that a change by hand is put right by the same steps as a change in Kule.

import type { PayloadOf } from "@kule/contract/schemas";
import type { ProviderZone, RecordSetChange } from "@kule/dns/dns-provider";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { RetryLater } from "../errors.ts";
import type { Job, Program } from "../program.ts";
import type { DnsWorld } from "./dns-world.ts";
import { laggingServers } from "./lagging-servers.ts";
import { callsOf, changesTo } from "./wanted-zone.ts";

type SeenZone = {
  /** Null when the provider has none. */
  readonly zone: ProviderZone | null;
  readonly changes: readonly RecordSetChange[];
  /** Our own name servers that do not answer with what the provider has; not asked while that is not what is wanted. */
  readonly lagging: readonly string[];
};

type ZoneStep =
  | { readonly do: "create-zone" }
  | { readonly do: "change-records"; readonly changes: readonly RecordSetChange[] }
  | { readonly do: "sign" }
  | { readonly do: "unsign" }
  | { readonly do: "await-answers" }
  | { readonly do: "delete-zone" };

type DomainJob = Job<PayloadOf<"DomainApply">>;

/** PowerDNS answers from its caches for up to a minute after a change. */
const longestWaitMilliseconds = 90_000;
const betweenQuestionsMilliseconds = 1_000;

export const applyDomain: Program<"DomainApply", SeenZone, ZoneStep, DnsWorld> = {
  kind: "DomainApply",

  async observe({ payload }, world, { signal }) {
    const { name } = payload.zone;
    const zone = await world.provider.readZone(name, signal);
    if (zone === null || payload.state === "gone") return { zone, changes: [], lagging: [] };
    const changes = changesTo(payload.zone, zone);
    const lagging = changes.length > 0 ? [] : await laggingServers(world.nameServers, name, zone.serial);
    return { zone, changes, lagging };
  },

  plan({ payload }, { zone, changes, lagging }) {
    if (payload.state === "gone") return zone === null ? [] : [{ do: "delete-zone" }];
    // What a new zone has of its own is known only when it is there.
    if (zone === null) return [{ do: "create-zone" }];
    const steps: ZoneStep[] = [];
    if (changes.length > 0) steps.push({ do: "change-records", changes });
    const isSigned = zone.dnssec !== null;
    if (payload.zone.dnssec && !isSigned) steps.push({ do: "sign" });
    if (!payload.zone.dnssec && isSigned) steps.push({ do: "unsign" });
    if (steps.length > 0 || lagging.length > 0) steps.push({ do: "await-answers" });
    return steps;
  },

  apply: {
    "create-zone": (_, { payload: { zone } }, { provider }, effect) =>
      one(effect, () => provider.createZone(zone.name, zone.name_servers, effect.signal)),

    "change-records": async ({ changes }, { payload: { zone } }, { provider }, effect) => {
      for (const call of callsOf(changes))
        await one(effect, () => provider.changeZone(zone.name, call, effect.signal));
    },

    sign: (_, { payload: { zone } }, { provider }, effect) =>
      one(effect, async () => {
        await provider.enableDnssec(zone.name, effect.signal);
      }),

    unsign: (_, { payload: { zone } }, { provider }, effect) =>
      one(effect, () => provider.disableDnssec(zone.name, effect.signal)),

    "await-answers": awaitAnswers,

    "delete-zone": (_, { payload: { zone } }, { provider }, effect) =>
      one(effect, () => provider.deleteZone(zone.name, effect.signal)),
  },

  observed: ({ payload }, { zone }) => ({
    power_state: "unknown",
    domain: {
      generation: payload.generation,
      serial: zone?.serial ?? null,
      ds: [...(zone?.dnssec?.ds ?? [])],
    },
  }),

  irreversible: new Set(["delete-zone"]),
  idle: new Set(["await-answers"]),
  notConverged: "dns_not_converged",
};

/** Every call of the provider is an effect of its own: the lease is checked before it, and the run may end there. */
async function one(effect: EffectContext, call: () => Promise<void>): Promise<void> {
  await effect.beforeCall();
  await call();
  await effect.answered();
}

/** Waits until each of our name servers answers with what the provider has. */
async function awaitAnswers(
  _: ZoneStep,
  { payload }: DomainJob,
  { provider, nameServers, runtime }: DnsWorld,
  effect: EffectContext,
): Promise<void> {
  const { name } = payload.zone;
  const zone = await provider.readZone(name, effect.signal);
  // Deleted by somebody since: the next observation finds that.
  if (zone === null) return;
  const begun = runtime.now();
  for (;;) {
    const lagging = await laggingServers(nameServers, name, zone.serial);
    if (lagging.length === 0) return;
    const waited = runtime.now() - begun;
    if (waited >= longestWaitMilliseconds) throw unanswered(lagging);
    await effect.stillRunning(waited);
    await runtime.pause(betweenQuestionsMilliseconds, effect.signal);
  }
}

function unanswered(lagging: readonly string[]): RetryLater {
  return new RetryLater({
    code: "dns_unanswered",
    message: "The name servers do not answer with the domain's new state yet; this is tried again.",
    internal: lagging.join("\n"),
  });
}
