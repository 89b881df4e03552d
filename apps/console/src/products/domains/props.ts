import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { RecordQuery } from "./record-query.ts";

export type DomainsPageProps = {
  readonly view: View;
  readonly domains: Schemas["DomainList"];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

/** What a page with forms shows after one of them was refused, and the beginning of their keys. */
type Forms = {
  readonly view: View;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type CreateDomainPageProps = Forms & {
  /** What is wrong in the typed zone file. */
  readonly fileProblems: readonly FileProblem[];
};

/** What each tab of a domain shows. */
export type DomainTabProps = Forms & { readonly domain: Schemas["Domain"] };

export type RecordsProps = DomainTabProps & {
  readonly query: RecordQuery;
  readonly records: Schemas["RecordSetList"];
  /** The record set that is being edited. */
  readonly edited: Schemas["RecordSet"] | null;
  /** Those whose addresses a record can follow, where they are needed: for the form, and to name those that are followed. */
  readonly servers: readonly Schemas["Server"][];
};

export type DeleteRecordsProps = DomainTabProps & {
  readonly query: RecordQuery;
  /** What the deletion changes: the chosen record sets that there still are. */
  readonly changes: Schemas["RecordChanges"];
  /** What is typed to confirm it. */
  readonly confirmation: string;
  /** The typed confirmation that did not match; null on a fresh page. */
  readonly typed: string | null;
};

/** One problem of a zone file, with its line where it is about one. */
export type FileProblem = {
  readonly line: number | null;
  readonly text: string;
  /** What stands in the line. */
  readonly typed: string;
};

export type ImportProps = DomainTabProps & {
  readonly typed: { readonly zoneFile: string; readonly mode: "merge" | "replace" };
  /** What the typed file would change, and the version of the domain that it was compared with. */
  readonly preview: (Schemas["RecordChanges"] & { readonly generation: number }) | null;
  readonly problems: readonly FileProblem[];
  /** Problems that the answer leaves out. */
  readonly moreProblems: number;
};

export type DelegationProps = DomainTabProps & {
  /** The report of a check that was asked for; null without one. */
  readonly check: Schemas["DomainCheck"] | null;
};
