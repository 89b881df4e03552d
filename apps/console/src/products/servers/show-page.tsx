import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, CopyButton, Status } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { JobTable } from "../jobs/list-page.tsx";
import { jobTone } from "../jobs/phase-states.ts";
import { JobActions, JobFailure } from "../jobs/show-page.tsx";
import { LiveTimeline } from "../jobs/timeline-part.tsx";
import { jobName } from "../jobs/title.ts";
import { ServerCalls } from "./calls.tsx";
import { DangerZone, PendingDeletion } from "./danger-panel.tsx";
import { ServerFacts } from "./facts-panel.tsx";
import { ServerHead } from "./head-part.tsx";
import { PasswordPanel } from "./password-panel.tsx";
import type { ShowPageProps } from "./props.ts";
import { servers } from "./resource.ts";
import { SeenWarnings } from "./seen-panel.tsx";

export function ShowPage(props: ShowPageProps) {
  const { view, server, notice, problem } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={server.name} section="servers" needs={["jobs"]}>
      {notice === null ? null : <Banner kind="notice">{notice}</Banner>}
      <PageNotice banner={problem} />
      <SecretPanel
        view={view}
        password={props.consolePassword}
        isSetLater={server.image.os_family === "windows" && server.job_id !== null}
      />
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
        <ResourceTabs view={view} resource={servers} item={server} current="overview" />
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

/** The job behind the status: followed live while it runs, and shown when it failed. */
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
      <JobActions view={view} job={job} idempotencyKey={idempotencyKey} returnTo={`/servers/${server.id}`} />
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
  isSetLater,
}: {
  readonly view: View;
  readonly password: ShowPageProps["consolePassword"];
  /** Reported by the guest agent, when the guest has started. */
  readonly isSetLater: boolean;
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
      {isSetLater ? <p class="hint">{messages.servers.password.setLater}</p> : null}
      <p class="hint">{messages.servers.password.stored}</p>
    </section>
  );
}
