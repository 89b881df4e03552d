import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import type { CalledOperation } from "../../api-operation.ts";
import { notAllowed, Offered } from "../../layout/action-button.tsx";
import { Banner, Status } from "../../layout/parts.tsx";
import { tabPath } from "../../layout/resource-tabs.tsx";
import type { View } from "../../layout/view.ts";
import { resourceAddress } from "../../resource-address.ts";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import type { ResourceTab } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { OpenConsole } from "../consoles/open-part.tsx";
import { ConsoleSessions } from "../consoles/sessions-panel.tsx";
import { JobTable } from "../jobs/list-page.tsx";
import { jobTone } from "../jobs/phase-states.ts";
import { JobActions, JobFailure } from "../jobs/show-page.tsx";
import { LiveTimeline } from "../jobs/timeline-part.tsx";
import { jobName } from "../jobs/title.ts";
import { ServerAddresses } from "./addresses-panel.tsx";
import { consoleCalls, networkCalls, overviewCalls, settingsCalls } from "./calls.ts";
import { RenameServer } from "./change-name-form.tsx";
import { DangerZone, PendingDeletion } from "./danger-panel.tsx";
import { disabledReason, isOwn, managedText } from "./disabled-reason.ts";
import { ServerFacts } from "./facts-panel.tsx";
import { ServerFirewalls } from "./firewalls-panel.tsx";
import { headedServers } from "./head-part.tsx";
import { Interfaces } from "./interfaces-panel.tsx";
import { PasswordPanel } from "./password-panel.tsx";
import type {
  ConsoleTabProps,
  NetworkTabProps,
  OverviewProps,
  ServerTabProps,
  SettingsTabProps,
} from "./props.ts";
import { servers } from "./resource.ts";
import { PasswordOnce } from "./secret-panel.tsx";
import { SeenWarnings, ServerSeen } from "./seen-panel.tsx";

/** What happens to it now, its record, and what the region last reported. */
export function OverviewPage(props: OverviewProps) {
  const { view, server } = props;
  const { messages } = view;
  return (
    <ServerPage {...props} tab="overview" calls={overviewCalls(props)} followsJob>
      <PendingDeletion {...props} />
      <CurrentJob {...props} />
      <SeenWarnings {...props} />
      <div class="columns">
        <ServerFacts {...props} />
        <ServerSeen {...props} />
      </div>
      <section class="panel" aria-labelledby="history-title">
        <div class="panel-head">
          <h2 id="history-title">{messages.servers.history}</h2>
          <a href={tabPath(servers, server, "jobs")}>{messages.servers.allJobs}</a>
        </div>
        {props.jobs.length === 0 ? (
          <p class="hint">{messages.servers.noHistory}</p>
        ) : (
          <JobTable view={view} jobs={props.jobs} />
        )}
      </section>
    </ServerPage>
  );
}

/** Its interfaces, public addresses and firewalls. */
export function NetworkPage(props: NetworkTabProps) {
  return (
    <ServerPage {...props} tab="network" calls={networkCalls(props)}>
      <div class="columns">
        <div class="stack">
          <Interfaces {...props} />
          <ServerFirewalls {...props} />
        </div>
        <ServerAddresses {...props} />
      </div>
    </ServerPage>
  );
}

/** The open consoles, and the password for them. */
export function ConsolePage(props: ConsoleTabProps) {
  const { view, server } = props;
  const text = view.messages.consoles;
  return (
    <ServerPage {...props} tab="console" calls={consoleCalls(props)}>
      {isOwn(server) ? (
        <Offered view={view} permission="server:console">
          <section class="panel" aria-labelledby="open-title">
            <div class="panel-head">
              <h2 id="open-title">{text.open}</h2>
              <OpenConsole view={view} server={server} />
            </div>
            <p class="hint">{text.openHint}</p>
          </section>
        </Offered>
      ) : null}
      <ConsoleSessions {...props} />
      {server.deletion === null && isOwn(server) ? (
        <Offered view={view} permission="server:password_reset">
          <PasswordPanel {...props} />
        </Offered>
      ) : null}
    </ServerPage>
  );
}

/** Its name and labels; protection, rebuild and deletion. */
export function SettingsPage(props: SettingsTabProps) {
  const { view, server } = props;
  return (
    <ServerPage {...props} tab="settings" calls={settingsCalls(props)}>
      <PendingDeletion {...props} />
      {server.deletion === null && isOwn(server) ? (
        <Offered view={view} permission="server:update">
          <RenameServer {...props} />
        </Offered>
      ) : null}
      <LabelsPanel
        view={view}
        resource={servers}
        item={server}
        why={disabledReason(view, server, "update", "server:update")}
        isOffered={isOwn(server)}
        form={props.refused}
        idempotencyKey={props.idempotencyKey}
      />
      <DangerZone {...props} />
    </ServerPage>
  );
}

/** What a managed server belongs to, where it has a page that the role may read. */
function OwnerLink({
  view,
  owner,
}: {
  readonly view: View;
  readonly owner: NonNullable<ServerTabProps["server"]["managed_by"]>;
}) {
  const { managedHint } = view.messages.servers;
  const address = resourceAddress(owner.id);
  if (address === null || notAllowed(view, `${owner.type}:read`) !== null) return managedHint;
  return <a href={address}>{managedHint}</a>;
}

/** The frame of each tab: the header, and what concerns the whole server. */
function ServerPage(
  props: ServerTabProps & {
    readonly tab: ResourceTab;
    readonly calls: readonly CalledOperation[];
    readonly followsJob?: true;
    readonly children: Child;
  },
) {
  const { view, server, banner, tab, calls, followsJob, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={servers}
      item={server}
      head={headedServers.headOf(view, server, idempotencyKey)}
      tab={tab}
      banner={banner}
      calls={calls}
      needs={["jobs"]}
      once={<PasswordOnce {...props} />}
      live={{
        seconds: 10,
        gone: "/servers?notice=gone",
        ...(followsJob === undefined ? {} : { followsJob }),
      }}
    >
      {server.managed_by === null ? null : (
        <Banner kind="notice">
          {managedText(view, server.managed_by)} <OwnerLink view={view} owner={server.managed_by} />
        </Banner>
      )}
      {server.locked === null ? null : (
        <Banner kind="warning">{view.messages.operations.locked(server.locked.reason)}</Banner>
      )}
      {props.children}
    </ResourcePage>
  );
}

/** The job behind the status: followed live while it runs, and shown when it failed. */
function CurrentJob({ view, server, job, idempotencyKey }: OverviewProps) {
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
