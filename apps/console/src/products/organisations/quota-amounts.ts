import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

type Quota = Schemas["Quota"];

/** The form has memory in GB; the API has it in MB. */
const mbInGb = 1024;

/** The text of a limit in its field; empty for no limit. */
export function limitText({ limit, unit }: Pick<Quota, "limit" | "unit">): string {
  if (limit === null) return "";
  return String(unit === "MB" ? limit / mbInGb : limit);
}

/** The typed limits, for the API. Invalid numbers are passed on: the API refuses them beside their fields. */
export function typedLimits(
  quotas: readonly Pick<Quota, "name" | "unit">[],
  typed: (name: string) => string,
): RequestBody<"setQuotas">["limits"] {
  return Object.fromEntries(
    quotas.map(({ name, unit }) => {
      const text = typed(name);
      if (text === "") return [name, null];
      const number = typedNumber(text);
      return [name, unit === "MB" && typeof number === "number" ? Math.round(number * mbInGb) : number];
    }),
  );
}
