import { configViolations, type PlainKeys } from "../guest-input/config-check.ts";
import type { Trial } from "../guest-input/guest-world.ts";
import { tryCorpus } from "../guest-input/trials.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

export const row: Row = {
  id: "E6",
  title: "Whatever an owner writes, a VM has no parameter that another has not, and its marks read back",
  minutes: 0.7,
  mutants: [
    {
      name: "name-among-the-tags",
      removes: "tags that are made of identifiers only",
      patches: [
        {
          file: "apps/api/src/products/servers/payload.ts",
          find: 'tags: ["kule", server.organisation_id, server.id],\n    template: image.slug,',
          replace:
            'tags: ["kule", server.organisation_id, server.id, server.name],\n    template: image.slug,',
        },
      ],
      expects: /the tags are/,
    },
    {
      name: "name-in-the-description",
      removes: "a description that is the mark alone",
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
  return {
    cases,
    violations,
    figures: {
      texts: trials.length,
      "accepted somewhere": accepted,
      "configuration keys of a VM": plain.withKeys.size,
      VMs: all.filter(({ guest }) => guest !== null).length,
    },
  };
}

function keysOf({ guest, violations }: Trial): Set<string> {
  if (guest === null) throw new Error(`a plain server could not be made: ${violations.join("; ")}`);
  return new Set(Object.keys(guest.vm.config));
}
