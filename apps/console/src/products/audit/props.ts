import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { AuditQuery } from "./list-query.ts";

export type AuditPageProps = {
  readonly view: View;
  /** The trail of the organisation, or of all organisations and the installation. */
  readonly scope: "organisation" | "installation";
  readonly entries: Schemas["AuditList"];
  /** The people that the filter offers. */
  readonly members: readonly Schemas["Member"][];
  readonly query: AuditQuery;
  /** The query as the API takes it. */
  readonly asked: Readonly<Record<string, string>>;
  readonly problems: FieldProblems;
  readonly cursor: string | undefined;
};
