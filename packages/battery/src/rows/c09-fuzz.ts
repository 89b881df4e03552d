import { percentile } from "../judgement.ts";
import type { Row } from "../row.ts";
import { type FuzzSegment, fuzzSegment } from "../tenancy/fuzz-segment.ts";

/** Worlds of their own, so that the last requests do not meet only what is full and used up. */
const segments = { full: { worlds: 5, requests: 10_400 }, sample: { worlds: 1, requests: 1_500 } };

/** A fuzz that is turned away at the door proves nothing: such shares must get through to the work itself. */
const leastShares: readonly (readonly [what: string, status: RegExp, share: number])[] = [
  ["successes", /^2/, 0.15],
  ["things made", /^20[12]$/, 0.03],
  ["invalid bodies", /^422$/, 0.1],
];

export const row: Row = {
  id: "C9",
  title: "Every request is answered as the contract says, and never with an internal error.",
  minutes: 6,
  mutants: [
    {
      name: "broken-json-unhandled",
      removes: "the handling of a body that is not JSON",
      patches: [
        {
          file: "apps/api/src/platform/request-body.ts",
          find: '  } catch {\n    throw new Malformed("the body is not JSON");',
          replace: "  } catch (error) {\n    throw error;",
        },
      ],
      expects: /an internal error/,
    },
    {
      name: "first-field-only",
      removes: "the list of all offending fields",
      patches: [
        {
          file: "apps/api/src/platform/operation.ts",
          find: "wrong.addAll(body.errors);",
          replace: "wrong.addAll(body.errors.slice(0, 1));",
        },
      ],
      expects: /does not name \//,
    },
    {
      name: "every-wrong-field-answered",
      removes: "the bound of how many wrong fields are answered",
      patches: [
        {
          file: "packages/contract/src/field-error-list.ts",
          find: "export const mostFieldErrors = 100;",
          replace: "export const mostFieldErrors = 1_000_000;",
        },
        {
          file: "packages/contract/src/field-errors.ts",
          find: "const mostFindings = 2_000;",
          replace: "const mostFindings = 1_000_000;",
        },
      ],
      // The test build checks every answer against the contract, whose list of errors has a hundred.
      expects: /a refusal of \d+ characters|an internal error/,
    },
    {
      name: "permission-after-path",
      removes: "the order of checks: the permission before the path",
      patches: [
        { file: "apps/api/src/platform/operation.ts", find: "  requirePermission(request);\n", replace: "" },
        {
          file: "apps/api/src/platform/operation.ts",
          find: "  await checkInput(request, handler, found);",
          replace: "  requirePermission(request);\n  await checkInput(request, handler, found);",
        },
      ],
      expects: /expected 403, got (404|422)/,
    },
    {
      name: "refusals-unaudited",
      removes: "the audit row of a refused change",
      patches: [
        {
          file: "apps/api/src/platform/operation.ts",
          find: "const auditedStatuses = new Set([400, 403, 404, 409, 412, 413, 415, 422]);",
          replace: "const auditedStatuses = new Set([400, 403, 404, 412, 413, 415, 422]);",
        },
      ],
      expects: /is not in the audit trail/,
    },
  ],
  async run(run) {
    const { worlds, requests } = segments[run.scale];
    const done: FuzzSegment[] = [];
    for (let world = 0; world < worlds; world += 1)
      done.push(
        await fuzzSegment(requests, run.seed + world * 1_000_003, (sent) =>
          run.progress(`${world * requests + sent} of ${worlds * requests} requests`),
        ),
      );
    const violations = done.flatMap((segment) => segment.violations);
    const sent = done.reduce((sum, { milliseconds }) => sum + milliseconds.length, 0);
    const count = (status: RegExp) => done.reduce((sum, { tally }) => sum + tally.count(status), 0);
    const named = done.reduce((sum, { tally }) => sum + tally.allDefectsNamed, 0);
    if (violations.length === 0) {
      for (const [what, status, share] of leastShares)
        if (count(status) < sent * share) violations.push(`only ${count(status)} of ${sent} were ${what}`);
      // Nothing that the API needs is away.
      const away = done.flatMap(({ tally }) => tally.away);
      if (away.length > 0)
        violations.push(`${away.length} of ${sent} were answered 503: ${away.slice(0, 10).join(", ")}`);
      if (named < sent * 0.05) violations.push(`only ${named} of ${sent} bodies had all their defects named`);
    }
    const p99 = percentile(
      done.flatMap(({ milliseconds }) => milliseconds),
      0.99,
    );
    return {
      cases: sent,
      violations,
      figures: {
        "answers of 2xx": count(/^2/),
        "of 4xx": count(/^4/),
        "of 5xx": count(/^5/) + violations.filter((each) => /an internal error/.test(each)).length,
        "documented pairs of operation and status": new Set(done.flatMap(({ tally }) => tally.pairs())).size,
        "bodies with every defect named": named,
        "p99 of a request and its preparations in ms": Math.round((p99 ?? 0) * 10) / 10,
      },
    };
  },
};
