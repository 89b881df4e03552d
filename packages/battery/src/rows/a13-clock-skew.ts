import { runSkews } from "../clock-skew/run-skews.ts";
import type { Row } from "../row.ts";

export const row: Row = {
  id: "A13",
  title:
    "Wrong, fast and stepping clocks of agents and control plane have no effect: only Postgres' clock decides",
  minutes: 3,
  mutants: [
    {
      name: "lease-by-the-apis-clock",
      removes: "Postgres' clock from the lease that a report renews",
      patches: [
        {
          file: "apps/api/src/agent/report-step.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the product
          find: "${leaseSeconds}::integer",
          replace:
            // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the product
            "extract(epoch from ${new Date(Date.now() + leaseSeconds * 1000)}::timestamptz - clock_timestamp())::integer",
        },
      ],
      expects: /the lease of \S+ had [\d.]+ s to run/,
    },
    {
      name: "lease-by-the-agents-wall-clock",
      removes: "the monotonic clock from the agent's lease",
      patches: [
        {
          file: "apps/agent/src/lease.ts",
          find: "this.#since = sentAt;",
          replace: "this.#since = Date.now();",
        },
        {
          file: "apps/agent/src/lease.ts",
          find: "this.#since = Math.max(this.#since, sentAt);",
          replace: "this.#since = Date.now();",
        },
        {
          file: "apps/agent/src/lease.ts",
          find: "this.#runtime.monotonic() - this.#since",
          replace: "Date.now() - this.#since",
        },
      ],
      expects: /though its agent lived|is (running|queued|failed) in attempt|after one crash/,
    },
    {
      name: "token-by-the-apis-clock",
      removes: "Postgres' clock from the end of a token",
      patches: [
        {
          file: "apps/api/src/platform/token-cache.ts",
          find: "if (stored.endsAt <= performance.now()) return null;",
          replace: "if ((caller.expiresAt?.getTime() ?? Infinity) <= Date.now()) return null;",
        },
      ],
      expects: /a token with 600 s to live .* is answered 401/,
    },
    {
      name: "removal-buffer-by-the-apis-clock",
      removes: "Postgres' clock from the end of the removal buffer",
      patches: [
        {
          file: "apps/api/src/products/servers/delete-server.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template in the product
          find: "purge_at: sql<Date>`clock_timestamp() + make_interval(secs => ${request.deps.settings.removalBufferSeconds})`,",
          replace: "purge_at: new Date(Date.now() + request.deps.settings.removalBufferSeconds * 1000),",
        },
      ],
      expects: /the removal buffer of \S+ does not end in an hour/,
    },
  ],
  run: runSkews,
};
