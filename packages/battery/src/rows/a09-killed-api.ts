import { mutationCases } from "@kule/api/testing/proofs/mutation-cases";
import { killApis } from "../api-crash/kill-apis.ts";
import type { Row } from "../row.ts";

export const row: Row = {
  id: "A9",
  title:
    "an API killed at any boundary of a mutating request leaves all of it or nothing, and the retry does it once",
  minutes: 8,
  mutants: [
    {
      name: "audit-outside-the-transaction",
      removes: "the audit row from the transaction of its change",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "await writeAudit(tx, request, {",
          replace: "await writeAudit(request.db, request, {",
        },
      ],
      expects: /before-commit.*partial.*unexpected audit \+/,
    },
    {
      name: "queue-entry-after-commit",
      removes: "the queue entry from the transaction of its job",
      patches: [
        {
          file: "apps/api/src/platform/jobs.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the product
          find: "sendAhead(tx, sql`select kule_queue_add(${jobId})`);",
          replace: "(globalThis.lateEntries ??= []).push(jobId);",
        },
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "return await attemptMutation(request, work, options);",
          replace: `const answer = await attemptMutation(request, work, options);
      for (const id of (globalThis.lateEntries ??= []).splice(0))
        await sql\`select kule_queue_add(\${id})\`.execute(request.db).catch(() => {});
      return answer;`,
        },
      ],
      expects: /committed.*partial.*missing _private_jobs \+/,
    },
    {
      name: "idempotency-record-outside-the-transaction",
      removes: "the idempotency record from the transaction of its request",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "const replayed = await takeKey(tx, request, key);",
          replace: "const replayed = await takeKey(request.db, request, key);",
        },
      ],
      expects: /before-commit.*partial.*unexpected idempotency_key \+/,
    },
  ],
  run: (run) => killApis(run, mutationCases),
};
