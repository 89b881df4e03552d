import type { RequestBody } from "@kule/contract/schemas";
import { type Command, UsageError } from "../command.ts";
import { textTable } from "../text-table.ts";

type Limits = RequestBody<"setQuotas">["limits"];

export const setQuotas: Command = {
  noun: "quota",
  verb: "set",
  summary: "Limit what an organisation may have; limits that are not named stay as they are",
  positionals: {
    names: "ORGANISATION NAME=LIMIT...",
    about: "the organisation's id, then limits such as servers=20 or memory_mb=unlimited",
    least: 2,
    most: 50,
  },
  options: {},
  async run({ positionals: [organisation = "", ...pairs] }, api) {
    const limits = Object.fromEntries(pairs.map(readLimit)) as Limits;
    const quotas = await api.ask(
      api.client().PUT("/organisations/{organisation_id}/quotas", {
        params: { path: { organisation_id: organisation }, header: api.once() },
        body: { limits },
      }),
    );
    return {
      json: quotas,
      text: () =>
        textTable(
          ["QUOTA", "USED", "LIMIT"],
          quotas.items.map(({ name, used, limit }) => [
            name,
            String(used),
            limit === null ? "unlimited" : String(limit),
          ]),
        ),
    };
  },
};

/** Which names there are is the API's to say. */
function readLimit(text: string): [string, number | null] {
  const [, name = "", limit = ""] = /^([a-z][a-z0-9_]*)=(\d{1,12}|unlimited)$/.exec(text) ?? [];
  if (name === "")
    throw new UsageError(
      `${JSON.stringify(text)} is no limit: give one such as servers=20 or servers=unlimited`,
    );
  return [name, limit === "unlimited" ? null : Number(limit)];
}
