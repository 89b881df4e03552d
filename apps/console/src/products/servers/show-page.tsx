import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/act-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, CopyButton, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { jobName } from "../jobs/job-name.ts";
import { JobTable } from "../jobs/list-page.tsx";
import { jobTone } from "../jobs/phase-states.ts";
import { JobActs, JobFailure } from "../jobs/show-page.tsx";
import { LiveTimeline } from "../jobs/timeline.tsx";
import { DangerZone, PendingDeletion } from "./danger-zone.tsx";
import { PasswordPanel } from "./operations.tsx";
import { ServerCalls } from "./server-calls.tsx";
import { ServerFacts } from "./server-facts.tsx";
import { ServerHead } from "./server-head.tsx";
import { SeenWarnings } from "./server-seen.tsx";

export type ShowPageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly networks: readonly Schemas["Network"][];
  readonly sshKeys: readonly Schemas["SshKey"][];
  readonly catalog: Schemas["Catalog"];
  /** Addresses of the organisation that a server could be given. */
  readonly publicIps: readonly Schemas["PublicIp"][];
  readonly firewalls: readonly Schemas["Firewall"][];
  /** Who has the console open. */
  readonly consoleSessions: readonly Schemas["ConsoleSession"][];
  /** Newest first, without steps. */
  readonly jobs: readonly Schemas["Job"][];
  /** The open job, or the newest one if it failed; with steps. */
  readonly job: Schemas["Job"] | null;
  readonly notice: string | null;
  readonly problem: PageBanner;
  /** The form that the API did not take; null on a page that nobody sent anything from. */
  readonly refused: RefusedForm | null;
  /** Shown on this page and never again. */
  readonly consolePassword: { readonly user: string; readonly password: string } | "withheld" | null;
  readonly idempotencyKey: string;
};

export function ShowPage(props: ShowPageProps) {
  const { view, server, notice, problem } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={server.name} section="servers" needs={["jobs"]}>
      {notice === null ? null : <Banner kind="notice">{notice}</Banner>}
      <PageNotice banner={problem} />
      <SecretPanel view={view} password={props.consolePassword} />
      <div
        id="server-live"
        class="stack"
        data-poll=""
        data-gone="/servers?notice=gone"
        hx-get={`/servers/${server.id}`}
        hx-trigger="every 10s, refresh, job-done from:body"
        hx-select="#server-live"
        hx-swap="outerMorph"
      >
        <ServerHead {...props} />
        <ResourceTabs view={view} kind="servers" resource={server} current="overview" />
        <LockBanner {...props} />
        <PendingDeletion {...props} />
        <CurrentJob {...props} />
        <SeenWarnings {...props} />
        <ServerFacts {...props} />
        {server.deletion === null ? (
          <Offered view={view} permission="server:password_reset">
            <PasswordPanel {...props} />
          </Offered>
        ) : null}
        <section class="panel" aria-labelledby="history-title">
          <div class="panel-head">
            <h2 id="history-title">{messages.servers.history}</h2>
          </div>
          {props.jobs.length === 0 ? (
            <p class="hint">{messages.servers.noHistory}</p>
          ) : (
            <JobTable view={view} jobs={props.jobs} />
          )}
        </section>
        <DangerZone {...props} />
      </div>
      <ServerCalls {...props} />
    </Shell>
  );
}

/** The job behind the status: followed live while it runs, kept in sight when it failed. */
function CurrentJob({ view, server, job, idempotencyKey }: ShowPageProps) {
  if (job === null) return <StatusReason server={server} />;
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="now-title">
      <div class="panel-head">
        <h2 id="now-title">{jobName(messages, job)}</h2>
        <Status tone={jobTone(job.status)}>{messages.jobs.status[job.status] ?? job.status}</Status>
      </div>
      <LiveTimeline view={view} job={job} />
      <JobFailure view={view} job={job} />
      <JobActs view={view} job={job} idempotencyKey={idempotencyKey} returnTo={`/servers/${server.id}`} />
    </section>
  );
}

function LockBanner({ view, server }: ShowPageProps) {
  if (server.locked === null) return null;
  return <Banner kind="warning">{view.messages.operations.locked(server.locked.reason)}</Banner>;
}

function StatusReason({ server }: { readonly server: Schemas["Server"] }) {
  if (server.status_reason === null) return null;
  return (
    <Banner kind="problem">
      <p>{server.status_reason.message}</p>
      <p>
        <code>{server.status_reason.code}</code>
      </p>
    </Banner>
  );
}

function SecretPanel({
  view,
  password,
}: {
  readonly view: View;
  readonly password: ShowPageProps["consolePassword"];
}) {
  const { messages } = view;
  if (password === null) return null;
  if (password === "withheld") return <Banner kind="warning">{messages.servers.password.withheld}</Banner>;
  return (
    <section class="panel secret" aria-labelledby="secret-title">
      <div class="panel-head">
        <h2 id="secret-title">
          <Icon name="keys" />
          {messages.servers.password.title}
        </h2>
      </div>
      <p>{messages.servers.password.lead}</p>
      <dl class="facts">
        <div>
          <dt>{messages.servers.password.user}</dt>
          <dd class="mono">{password.user}</dd>
        </div>
        <div>
          <dt>{messages.servers.password.label}</dt>
          <dd class="secret-text">
            <code id="console-password">{password.password}</code>
            <CopyButton view={view} source="console-password" />
          </dd>
        </div>
      </dl>
      <p class="hint">{messages.servers.password.stored}</p>
    </section>
  );
}
