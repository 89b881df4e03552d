import { cloudInitViolations } from "../guest-input/cloud-init-check.ts";
import { tryCorpus } from "../guest-input/trials.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

export const row: Row = {
  id: "E1",
  title: "Whatever an owner writes, a guest's cloud-init reads exactly that text and nothing else",
  minutes: 0.7,
  mutants: [
    {
      name: "names-that-yaml-reads",
      removes: "the refusal of names that YAML takes for values",
      patches: [
        {
          file: "packages/rules/src/servers/naming.ts",
          find: "if (yamlWords.has(name))",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          replace: "if (yamlWords.has(`${name} `))",
        },
      ],
      expects: /the user-data says in YAML 1\.[12]/,
    },
    {
      name: "keys-with-their-comments",
      removes: "the removal of comments from public keys",
      patches: [
        {
          file: "packages/rules/src/ssh-keys/parse.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          find: "publicKey: `${algorithm} ${encoded}`,",
          replace: "publicKey: line,",
        },
        {
          file: "packages/proxmox/src/ssh-keys.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          find: "  return `${match[1]} ${match[2]}`;",
          replace: "  return key.trim();",
        },
      ],
      expects: /the user-data (says|is no)|is refused by the region/,
    },
  ],
  run,
};

async function run(run: RowRun): Promise<RowResult> {
  const { plainWithKey, plainWithPassword, trials, cases, accepted } = await tryCorpus(run);
  const all = [plainWithKey, plainWithPassword, ...trials];
  const violations = all.flatMap(({ text, guest, violations: own }) => [
    ...own,
    ...(guest === null ? [] : cloudInitViolations(guest).map((each) => `${JSON.stringify(text)}: ${each}`)),
  ]);
  if (accepted === 0) violations.push("no text was accepted anywhere: nothing reached a guest");
  return {
    cases,
    violations,
    figures: {
      texts: trials.length,
      "accepted somewhere": accepted,
      guests: all.filter(({ guest }) => guest !== null).length,
    },
  };
}
