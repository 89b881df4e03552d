import { configViolations, type PlainKeys } from "../guest-input/config-check.ts";
import type { Trial } from "../guest-input/guest-world.ts";
import { tryCorpus } from "../guest-input/trials.ts";
import { compareParameters } from "../parameters/compare-parameters.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

export const row: Row = {
  id: "E6",
  title:
    "Whatever an owner writes, every VM has the same parameters, its marks can be read back, and the hypervisor accepts what the API accepted",
  minutes: 0.7,
  mutants: [
    {
      name: "name-among-the-tags",
      removes: "tags that are made of identifiers only",
      patches: [
        {
          file: "apps/api/src/products/servers/payload.ts",
          find: "tags: tagsOf(server),\n    template: image.slug,",
          replace: "tags: [...tagsOf(server), server.name],\n    template: image.slug,",
        },
      ],
      expects: /the tags are/,
    },
    {
      name: "name-in-the-description",
      removes: "a description that is only the marker",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/desired-vm.ts",
          find: "      jobId: job.id,\n    }),",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          replace: "      jobId: job.id,\n    }).concat(`\\n${server.name}`),",
        },
      ],
      expects: /the description is/,
    },
    {
      name: "everybody-in-a-set",
      removes: "that any address of one IP version is a rule of its own",
      patches: [
        {
          file: "packages/rules/src/firewalls/peer-lists.ts",
          find: "  if (open.length === 2) return [null];",
          replace: "  if (open.length > 0) return [meant];",
        },
      ],
      expects: /rules that the API took are refused by the region: .*zero prefix/,
    },
    {
      name: "peers-of-both-versions",
      removes: "that icmp and icmpv6 have peers of their own IP version",
      patches: [
        {
          file: "packages/rules/src/firewalls/peer-lists.ts",
          find: "const only = versionOfProtocol[protocol];",
          replace: 'const only = versionOfProtocol[""];',
        },
      ],
      expects: /rules that the API took are refused by the region: .*mixed/,
    },
    {
      name: "ports-by-the-entry",
      removes: "that a range of ports counts as two",
      patches: [
        {
          file: "packages/rules/src/firewalls/ports.ts",
          find: "first === last ? 1 : 2",
          replace: "first === last ? 1 : 1",
        },
      ],
      expects: /rules that the API took are refused by the region: .*too many entries in port list/,
    },
  ],
  run,
};

async function run(run: RowRun): Promise<RowResult> {
  const { plainWithKey, plainWithPassword, trials, cases, accepted } = await tryCorpus(run);
  const plain: PlainKeys = { withKeys: keysOf(plainWithKey), withPassword: keysOf(plainWithPassword) };
  const all = [plainWithKey, plainWithPassword, ...trials];
  const violations = all.flatMap(({ text, guest, violations: own }) => [
    ...own,
    ...(guest === null
      ? []
      : configViolations(guest, text, plain).map((each) => `${JSON.stringify(text)}: ${each}`)),
  ]);
  for (const forbidden of ["args", "hookscript", "cicustom"])
    for (const keys of [plain.withKeys, plain.withPassword])
      if (keys.has(forbidden)) violations.push(`a plain VM has ${forbidden}`);
  if (accepted === 0) violations.push("no text was accepted anywhere: nothing reached a VM");
  const comparison = await compareParameters(run);
  return {
    cases: cases + comparison.cases,
    violations: [...violations, ...comparison.violations],
    figures: {
      texts: trials.length,
      "accepted somewhere": accepted,
      "fields that reach the hypervisor": comparison.reachingFields,
      "values and rules of these": comparison.cases,
      "configuration keys of a VM": plain.withKeys.size,
      VMs: all.filter(({ guest }) => guest !== null).length,
    },
  };
}

function keysOf({ guest, violations }: Trial): Set<string> {
  if (guest === null) throw new Error(`a plain server could not be made: ${violations.join("; ")}`);
  return new Set(Object.keys(guest.vm.config));
}
