import { ApiWorld } from "@kule/api/testing/api-world";
import { openAskedInternet } from "@kule/api/testing/proofs/asked-internet";
import { ContractPairs, documentedPairs } from "@kule/api/testing/proofs/contract-pairs";
import { mutationCases } from "@kule/api/testing/proofs/mutation-cases";
import { callOperation } from "@kule/api/testing/proofs/operation-call";
import { infoOf, Provocations } from "@kule/api/testing/proofs/provocations";
import {
  openBareReplica,
  openBusyReplica,
  openLostReplica,
  provokeBusyKeys,
  provokeConflicts,
} from "@kule/api/testing/proofs/provoked-conflicts";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";
import { allOperations } from "@kule/testing/contract/contract-schema";
import type { Row, RowRun } from "../row.ts";
import { unprovokedPairs } from "../tenancy/unprovoked-pairs.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

export const row: Row = {
  id: "C11",
  title: "Every answer in the contract occurs, and no other.",
  minutes: 0.5,
  mutants: [
    {
      name: "undocumented-status",
      removes: "the documented status of a changed network",
      patches: [
        {
          file: "apps/api/src/products/networks/update-network.ts",
          find: "reply(200,",
          replace: "reply(202,",
        },
        {
          file: "apps/api/src/platform/test-build.ts",
          find: "if (defect !== null) throw new Error(defect);",
          replace: "",
        },
      ],
      expects: /updateNetwork answered 202, which the contract does not name/,
    },
    {
      name: "if-match-ignored",
      removes: "the answer 412 to a change of a resource that has changed meanwhile",
      patches: [
        {
          file: "apps/api/src/platform/api-request.ts",
          find: "if (!tags.includes(current))",
          replace: "if (false)",
        },
      ],
      expects: /updateNetwork 412 was never answered/,
    },
  ],
  async run(run) {
    const world = await ApiWorld.open();
    try {
      const pairs = new ContractPairs();
      pairs.listenTo(world.app);
      const { gone } = await withTwoOrganisations((all) => provokeAll(run, all, pairs), world);
      const documented = documentedPairs();
      const missing = pairs.missing();
      const violations = [
        ...pairs.undocumented(),
        ...missing
          .filter((pair) => unprovokedPairs[pair] === undefined)
          .map((pair) => `${pair} was never answered`),
        ...Object.keys(unprovokedPairs)
          .filter((pair) => !missing.includes(pair))
          .map((pair) => `${pair} can be provoked or is not documented: take it from the list`),
        ...gone,
      ];
      return {
        cases: pairs.answers,
        violations,
        figures: {
          "documented pairs seen": `${documented.length - missing.length} of ${documented.length}`,
          "coverage in %": Math.floor(((documented.length - missing.length) / documented.length) * 1000) / 10,
          "pairs on the list of those that cannot be provoked": Object.keys(unprovokedPairs).length,
        },
      };
    } finally {
      await world.close();
    }
  },
};

async function provokeAll(
  run: RowRun,
  all: TwoOrganisations,
  pairs: ContractPairs,
): Promise<{ gone: string[] }> {
  const provoke = new Provocations(all);
  const gone: string[] = [];
  const operations = allOperations();
  // A failed attempt is a finding like any other, so that a broken API leads to sentences.
  const attempt = (what: string, work: () => Promise<unknown>) =>
    work().catch((error: unknown) => gone.push(`${what}: ${error instanceof Error ? error.message : error}`));
  for (const info of operations) {
    await attempt(`${info.id} could not be called right`, () => provoke.succeed(info));
    for (const status of [400, 401, 403, 404, 412, 422] as const)
      if (info.statuses.includes(status))
        await attempt(`${info.id} ${status} could not be tried`, () => provoke.refuse(info, status));
  }
  run.progress(`${pairs.missing().length} pairs are left after right calls and refusals`);
  await attempt("conflicts could not be tried", () => provokeConflicts(all, provoke));
  run.progress(`${pairs.missing().length} pairs are left after conflicts`);
  await attempt("busy keys could not be tried", () =>
    provokeBusyKeys(all, provoke, (info) => info.statuses.includes(409) && !pairs.has(info.id, 409)),
  );
  await attempt("a new name", async () => {
    const { tenant, standing } = all.a;
    const server = await tenant.addRunningServer({ subnet_id: standing.subnet });
    return tenant.owner.patch(`/servers/${server}`, { name: tenant.name() });
  });
  await attempt("a new algorithm", () =>
    all.a.tenant.owner.patch(`/load-balancers/${all.a.standing.load_balancer}`, { algorithm: "source_hash" }),
  );
  await attempt("a console", async () => {
    const waiting = mutationCases().find(({ name }) => name === "claimConsole");
    const call = await waiting?.prepare(all.a, all);
    return call && callOperation(call.caller, call);
  });
  await attempt("a claim", () => all.regions.r1.agent.post("/agent/jobs/claim", claim));
  const busy = await openBusyReplica(all);
  const lost = await openLostReplica(all);
  const bare = await openBareReplica(all);
  const internet = await openAskedInternet(all);
  try {
    pairs.listenTo(bare.app);
    await attempt("passkeys without a domain", () => provoke.at(bare, infoOf("beginPasskeyLogin")));
    await attempt("providers without a panel", () => provoke.at(bare, infoOf("beginOidcLogin")));
    await attempt("mail without a server", () => provoke.at(bare, infoOf("requestPasswordReset")));
    await attempt("domains without name servers", () => provoke.at(bare, infoOf("checkDomain")));
    pairs.listenTo(internet.replica.app);
    await attempt("the proof of a domain", () => internet.proveDomain());
    pairs.listenTo(busy.app);
    pairs.listenTo(lost.app);
    // The first call of a caller is served: the person's changes nothing that the others lean on.
    await attempt("the person's first call", () => provoke.at(busy, infoOf("listSessions")));
    for (const info of operations) {
      // An agent's bucket is ten times as large.
      for (let time = 0; time < (info.tag === "agent" ? 12 : 2); time += 1)
        await attempt(`${info.id} 429 could not be tried`, () => provoke.at(busy, info));
      await attempt(`${info.id} 503 could not be tried`, () => provoke.at(lost, info));
    }
  } finally {
    await busy.close();
    await lost.close();
    await bare.close();
    await internet.close();
  }
  return { gone };
}

const claim = {
  claim_id: "the-claim-of-this-row",
  agent_version: "0.0.0",
  capabilities: ["ServerCreate", "ServerStop"],
  wait_seconds: 0,
};
