import type { Schemas } from "@kule/contract/schemas";
import { type Command, UsageError } from "../command.ts";
import { textTable } from "../text-table.ts";

const reasons: readonly Schemas["StuckReason"][] = ["silent", "repeating", "not_claimed", "slow", "failed"];
const most = 10_000;

export const listStuckJobs: Command = {
  noun: "jobs",
  verb: "stuck",
  summary: "List the jobs of all organisations that do not proceed without help, the longest waiting first",
  options: {
    region: { value: "SLUG", about: "only this region's" },
    reason: {
      value: "REASON",
      about: `one of ${reasons.join(", ")}; may be given several times`,
      isRepeated: true,
    },
  },
  async run(given, api) {
    const wanted = given.all("reason").map((text) => {
      const reason = reasons.find((each) => each === text);
      if (reason === undefined) throw new UsageError(`--reason is one of ${reasons.join(", ")}`);
      return reason;
    });
    const region = given.one("region");
    const client = api.client();
    const { items, isWhole } = await api.all(most, (cursor) =>
      api.ask(
        client.GET("/operator/stuck-jobs", {
          params: {
            query: {
              limit: 200,
              ...(cursor === undefined ? {} : { cursor }),
              ...(region === undefined ? {} : { region }),
              ...(wanted.length === 0 ? {} : { reason: wanted }),
            },
          },
        }),
      ),
    );
    return {
      json: { items },
      notes: isWhole ? [] : [`only the first ${most} are listed`],
      text: () =>
        items.length === 0
          ? "no job is stuck"
          : textTable(
              ["JOB", "REASON", "SINCE", "KIND", "REGION", "ORGANISATION", "RESOURCE", "ERROR"],
              items.map((job) => [
                job.id,
                job.reason,
                job.since,
                job.kind,
                job.region ?? "-",
                job.organisation.id,
                job.resource.id,
                job.error?.code ?? "-",
              ]),
            ),
    };
  },
};
