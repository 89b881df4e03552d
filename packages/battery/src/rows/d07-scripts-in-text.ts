import { probeChromium } from "@kule/testing/chromium";
import { mutantsIn } from "../mutants-in.ts";
import { visitPanel } from "../panel-scripts/visits.ts";
import type { Mutant, Row } from "../row.ts";

const without = mutantsIn("apps/console");

/** Every answer has the one nonce, in its policy and in its page: whoever has seen a page knows that of all others. */
const oneNonce: Mutant = {
  name: "one-nonce",
  removes: "the nonce of each answer",
  patches: [
    {
      file: "apps/console/src/app.tsx",
      find: "scriptSrc: [NONCE],",
      replace: "scriptSrc: [\"'nonce-q83vEjRWeJCrze8SNFZ4kA=='\"],",
    },
    {
      file: "apps/console/src/app.tsx",
      find: "styleSrc: [NONCE],",
      replace: "styleSrc: [\"'nonce-q83vEjRWeJCrze8SNFZ4kA=='\"],",
    },
    {
      file: "apps/console/src/request-guard.ts",
      find: 'nonce: context.get("secureHeadersNonce") ?? "",',
      replace: 'nonce: "q83vEjRWeJCrze8SNFZ4kA==",',
    },
  ],
  expects: /has the nonce of an answer before/,
};

export const row: Row = {
  id: "D7",
  title: "A text is a text on every page of the panel, whoever wrote it and however it came there",
  minutes: 5,
  needs: { part: "chromium", probe: probeChromium },
  mutants: [
    without(
      "inline-scripts",
      "the policy against scripts within a page",
      "src/app.tsx",
      "scriptSrc: [NONCE],",
      "scriptSrc: [NONCE, \"'unsafe-inline'\"],",
      /its policy says script-src 'unsafe-inline'/,
    ),
    without(
      "everything-else-from-here",
      "the policy against whatever no directive names",
      "src/app.tsx",
      "defaultSrc: [\"'none'\"],",
      "defaultSrc: [\"'self'\"],",
      /its policy says default-src 'self'/,
    ),
    without(
      "may-be-framed",
      "the policy against being framed",
      "src/app.tsx",
      "        frameAncestors: [\"'none'\"],\n",
      "",
      /its policy has no frame-ancestors/,
    ),
    oneNonce,
    without(
      "raw-error-of-an-agent",
      "the escape of a job's error",
      "src/products/jobs/show-page.tsx",
      "<p>{job.error.message}</p>",
      "<p dangerouslySetInnerHTML={{ __html: job.error.message }}></p>",
      /a text has become markup \([^)]*an error's message/,
    ),
    without(
      "broken-by-an-address",
      "the page for an address that asks for what cannot be",
      "src/failures.tsx",
      "const wrongAddress: ReadonlySet<number> = new Set([400, 422]);",
      "const wrongAddress: ReadonlySet<number> = new Set([]);",
      /a text has broken the page/,
    ),
  ],
  run: visitPanel,
};
