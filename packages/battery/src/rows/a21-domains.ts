import { DomainStage } from "../domain-jobs/domain-stage.ts";
import { hostileTexts } from "../domain-jobs/hostile-texts.ts";
import { editOfLargeZone, failingProvider, longOutage } from "../domain-jobs/provider-faults.ts";
import { endPoints, soldDomain } from "../domain-jobs/sold-domains.ts";
import { squattingRound } from "../domain-jobs/squatting.ts";
import type { Row } from "../row.ts";

/** How many of the crash points a sample tries, and how many rounds of the races. */
const sampledPoints = 8;
const rounds = { sample: 12, full: 60 };

export const row: Row = {
  id: "A21",
  title:
    "Whatever is killed, lost or away, the name servers end with what the API shows of a domain, and a name has one owner",
  minutes: 10,
  mutants: [
    {
      name: "not-compared",
      removes: "the comparison of the provider's zone with the wanted one",
      patches: [
        {
          file: "packages/programs/src/domains/wanted-zone.ts",
          find: "const differences = zoneDifferences(wantedZone(wanted), presentIn(wanted.name, recordSets));",
          replace:
            "const differences = zoneDifferences(wantedZone(wanted), presentIn(wanted.name, recordSets)).slice(0, 0);",
        },
      ],
      expects: /is nothing, not|is not|is still/,
    },
    {
      name: "proven-at-once",
      removes: "the lock that lets one proof after the other look at the claims",
      patches: [
        {
          file: "apps/api/src/products/domains/prove-domain.ts",
          find: "  await lockOwnership(tx);\n",
          replace: "",
        },
      ],
      expects: /does not delegate the other/,
    },
    {
      name: "delegated-and-lost",
      removes: "the hold of the organisation that a name is delegated to",
      patches: [
        {
          file: "packages/rules/src/domains/ownership.ts",
          find: "if (observed.some((name) => holder.nameServers.includes(name)))",
          replace: "if (observed.length < 0)",
        },
      ],
      expects: /goes to another organisation while it is delegated/,
    },
    {
      name: "sold-and-kept",
      removes: "the end of what an organisation has in a domain that it has lost",
      patches: [
        {
          file: "apps/api/src/products/domains/end-domain.ts",
          find: "for (const dependent of dependents) {",
          replace: "for (const dependent of dependents.slice(0, 0)) {",
        },
      ],
      expects: /is served for who has sold/,
    },
    {
      name: "attempts-used-up",
      removes: "the patience with a DNS provider that is away",
      patches: [
        {
          file: "packages/rules/src/jobs/retry.ts",
          find: 'new Set(["dns_unavailable"])',
          replace: "new Set()",
        },
      ],
      expects: /an outage of an hour/,
    },
  ],
  async run({ scale, random, progress }) {
    const stage = await DomainStage.open();
    const violations: string[] = [];
    let cases = 0;
    try {
      const served = await stage.provenDomain();
      const first = await stage.pointsOf(async () => served);
      const later = await stage.pointsOf(() => stage.change(served));
      const points = [
        ...first.map((point) => ({ point, make: () => stage.provenDomain() })),
        ...later.map((point) => ({ point, make: () => stage.change(served) })),
      ];
      const chosen =
        scale === "full" ? points : points.toSorted(() => random() - 0.5).slice(0, sampledPoints);
      for (const { point, make } of chosen) {
        const { died, found } = await stage.killAt(point, make);
        cases += 1;
        if (!died) violations.push(`no worker died at ${point}`);
        violations.push(...found.map((text) => `killed at ${point}: ${text}`));
        progress(`${cases} of ${chosen.length} workers killed, ${violations.length} violations`);
      }
      for (const part of [failingProvider, longOutage, editOfLargeZone]) {
        const { tried, found } = await part(stage, served);
        cases += tried;
        violations.push(...found);
        progress(`${cases} cases, ${violations.length} violations`);
      }
      const hostile = await hostileTexts(stage, random);
      cases += hostile.tried;
      violations.push(...hostile.found);
      const organisations = await Promise.all(
        ["b", "c", "d", "e", "f", "g", "h"].map((slug) => stage.domains.addOrganisation(`org-${slug}`)),
      );
      for (let round = 0; round < rounds[scale]; round += 1) {
        cases += 1;
        violations.push(...(await squattingRound(stage.domains, organisations)));
      }
      const [seller, buyer] = organisations;
      if (seller === undefined || buyer === undefined) throw new Error("there are no organisations");
      for (const point of [null, ...endPoints]) {
        cases += 1;
        const found = await soldDomain(stage, [seller, buyer], point);
        violations.push(...found.map((text) => `sold, killed at ${point}: ${text}`));
      }
      violations.push(...(await stage.worldCheck()));
    } finally {
      await stage.close();
    }
    return { cases, violations, figures: { "cases of all kinds": cases } };
  },
};
