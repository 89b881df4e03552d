import type { Command } from "../command.ts";
import { textTable } from "../text-table.ts";

const most = 10_000;

export const listAgents: Command = {
  noun: "agent",
  verb: "list",
  summary: "List the regions' agents: version, last report, status, jobs",
  options: {},
  async run(_given, api) {
    const client = api.client();
    const { items, isWhole } = await api.all(most, (cursor) =>
      api.ask(
        client.GET("/regions", {
          params: { query: { limit: 200, ...(cursor === undefined ? {} : { cursor }) } },
        }),
      ),
    );
    const agents = items.map(({ slug, mode, status, maintenance, agent, jobs }) => ({
      region: slug,
      mode,
      status,
      maintenance,
      version: agent?.version ?? null,
      reported_at: agent?.reported_at ?? null,
      jobs,
    }));
    return {
      json: { items: agents },
      notes: isWhole ? [] : [`only the first ${most} are listed`],
      text: () =>
        textTable(
          ["REGION", "MODE", "STATUS", "VERSION", "LAST REPORT", "QUEUED", "RUNNING"],
          agents.map(({ region, mode, status, version, reported_at: at, jobs }) => [
            region,
            mode,
            status,
            version ?? "-",
            at ?? "never",
            String(jobs.queued),
            String(jobs.running),
          ]),
        ),
    };
  },
};
