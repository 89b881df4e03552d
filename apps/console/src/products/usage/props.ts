import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { UsageQuery } from "./list-query.ts";
import type { Month } from "./month.ts";

/** The data of a page of segments or events. */
export type UsageListProps<Kind extends string> = {
  readonly view: View;
  readonly month: Month;
  readonly query: UsageQuery<Kind>;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly problems: FieldProblems;
  readonly cursor: string | undefined;
};
