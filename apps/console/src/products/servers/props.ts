import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { Check } from "./check-outcome-part.tsx";
import type { CreateForm } from "./create-values.ts";
import type { ResizeForm, ResizePlan } from "./resize-values.ts";

export type CreatePageProps = {
  readonly view: View;
  readonly form: CreateForm;
  readonly catalog: Schemas["Catalog"];
  readonly sshKeys: readonly Schemas["SshKey"][];
  readonly networks: readonly Schemas["Network"][];
  readonly firewalls: readonly Schemas["Firewall"][];
  /** Addresses of the organisation. */
  readonly publicIps: readonly Schemas["PublicIp"][];
  readonly problems: FieldProblems;
  /** The error of the whole form. */
  readonly banner: PageBanner;
  readonly check: Check;
  /** The form was sent and refused, so its errors are also listed at its top. */
  readonly sent: boolean;
  /** Just opened, so that the first field takes the focus; a preview leaves the focus unchanged. */
  readonly isOpened: boolean;
};

/** What each tab of a server shows. */
export type ServerTabProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly banner: PageBanner;
  /** The refused form; null on a page without one. */
  readonly refused: RefusedForm | null;
  /** Shown on this page only once. */
  readonly consolePassword: { readonly user: string; readonly password: string } | "withheld" | null;
  readonly idempotencyKey: string;
};

export type OverviewProps = ServerTabProps & {
  /** The networks of its region. */
  readonly networks: readonly Schemas["Network"][];
  readonly sshKeys: readonly Schemas["SshKey"][];
  readonly regions: readonly Schemas["CatalogRegion"][];
  /** Newest first, without steps. */
  readonly jobs: readonly Schemas["Job"][];
  /** The open job, or the newest one if it failed; with steps. */
  readonly job: Schemas["Job"] | null;
};

export type NetworkTabProps = ServerTabProps & {
  readonly networks: readonly Schemas["Network"][];
  /** Addresses of the organisation that could be attached to a server. */
  readonly publicIps: readonly Schemas["PublicIp"][];
  readonly firewalls: readonly Schemas["Firewall"][];
};

export type ConsoleTabProps = ServerTabProps & {
  /** The open console sessions. */
  readonly consoleSessions: readonly Schemas["ConsoleSession"][];
};

export type SettingsTabProps = ServerTabProps & {
  readonly images: readonly Schemas["Image"][];
  readonly sshKeys: readonly Schemas["SshKey"][];
  readonly publicIps: readonly Schemas["PublicIp"][];
};

export type ResizePageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly catalog: Schemas["Catalog"];
  /** Empty for roles that may not see them. */
  readonly quotas: readonly Schemas["Quota"][];
  readonly form: ResizeForm;
  readonly plan: ResizePlan | null;
  readonly check: Check;
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
