import { EventEmitter } from "node:events";
import type { DnsProvider } from "@kule/dns/dns-provider";
import { type JobHelpers, Logger, run, type TaskList, type WorkerEvents } from "graphile-worker";
import { crashPoint, withCrashPoints } from "../platform/crash-points.ts";
import type { Deps } from "../platform/deps.ts";
import { primaryPool } from "../platform/primary-client.ts";
import type { Settings } from "../platform/settings.ts";
import type { ResetMailTask } from "../products/account/index.ts";
import { advanceRollout, startAutomaticRollout } from "../products/agent-updates/index.ts";
import { certificateHooks } from "../products/certificate-hooks.ts";
import {
  type CertificateAuthority,
  lookAfterCertificates,
  stepOrder,
} from "../products/certificates/index.ts";
import { applyDomainsOfServer, type EndedDomain, endDomain } from "../products/domains/index.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { followTargets, keepLoadBalancers, meterTraffic } from "../products/load-balancers/index.ts";
import { applyUnseenNetworks } from "../products/networks/index.ts";
import { serverHooks } from "../products/server-hooks.ts";
import type { AuditKeys } from "./audit-seals/audit-keys.ts";
import { keepSealing } from "./audit-seals/keep-sealing.ts";
import { verifyAudit } from "./audit-seals/verify-audit.ts";
import { checkDomains, compareDomains } from "./check-domains.ts";
import { checkInvariants } from "./check-invariants.ts";
import { cleanUp } from "./clean-up.ts";
import { endLostConsoles } from "./end-lost-consoles.ts";
import { expireLeases } from "./expire-leases.ts";
import { expireRemovalBuffer, sweepRemovalBuffers } from "./expire-removal-buffer.ts";
import { keepHistory } from "./history/keep-history.ts";
import { mailPasswordReset } from "./mail-password-reset.ts";
import type { Mailer } from "./mailer.ts";
import { releaseTasksOfTheDead } from "./presence.ts";
import { keepAddingTasks, type RecurringTask } from "./recurring-tasks.ts";
import { refreshFiltersOf } from "./refresh-filters.ts";
import { compareAllPointers, serveAllPointers } from "./serve-all-pointers.ts";
import type { TaskMetrics } from "./task-metrics.ts";

export type RunningWorker = {
  /** Resolves when the worker ends by itself. */
  readonly ended: Promise<void>;
  /** Completes running tasks and ends. */
  stop(): Promise<void>;
};

/**
 * Runs the control plane's own tasks with graphile-worker, as the worker's role. The tasks themselves work with
 * the API's. Regions' jobs are never its business: their tasks are not in the list.
 */
export async function runWorker({
  deps,
  workerUrl,
  auditKeys = null,
  mailer = null,
  dnsProvider = null,
  ca = null,
  metrics = null,
}: {
  readonly deps: Deps;
  /** Of `kule_worker`. */
  readonly workerUrl: string;
  /** Null: the audit trail is not sealed. */
  readonly auditKeys?: AuditKeys | null;
  /** Null: nothing is mailed. */
  readonly mailer?: Mailer | null;
  /** Null: zones are not compared. */
  readonly dnsProvider?: DnsProvider | null;
  /** Null: no certificates are issued. */
  readonly ca?: CertificateAuthority | null;
  /** Null: nobody scrapes this worker. */
  readonly metrics?: TaskMetrics | null;
}): Promise<RunningWorker> {
  const tasks = tasksOf(deps, { auditKeys, mailer, dnsProvider, ca, metrics });
  const holders = new Set<string>();
  const events: WorkerEvents = new EventEmitter();
  events.on("worker:create", ({ worker }) => holders.add(worker.workerId));
  const pool = primaryPool(
    { connectionString: workerUrl, max: 10, application_name: "kule-worker" },
    (error) => deps.log.warn({ err: error }, "a connection of the worker broke"),
  );
  const runner = await run({
    pgPool: pool,
    taskList: tasks,
    events,
    // One more than the tasks that delay others: a scan of the invariants of a large installation takes
    // seconds.
    concurrency: 3,
    pollInterval: 2_000,
    // With batches, even of one, a task whose end cannot be recorded ends the runner cleanly. Without them
    // that error is unhandled, and it ends the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => {
      if (level === "error") deps.log.error(message);
      else if (level === "warning") deps.log.warn(message);
      else deps.log.debug(message);
    }),
  }).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  const recurring = keepAddingTasks(workerUrl, recurringTasks(deps.settings), holders, deps.log);
  const sealing = keepSealing(workerUrl, auditKeys, deps.log);
  const stopOthers = () => Promise.all([recurring.stop(), sealing.stop()]);
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= stopOthers().then(() => pool.end());
    return closed;
  };
  return {
    ended: runner.promise.finally(close),
    async stop() {
      await stopOthers();
      await runner.stop();
      await close();
    },
  };
}

/**
 * The recurring tasks of the control plane. A scan of the invariants that fails may as well wait for the next
 * one.
 */
function recurringTasks({ invariantsEveryMinutes }: Settings): RecurringTask[] {
  return [
    { name: "sweep_removal_buffers", everyMinutes: 1, maxAttempts: 25 },
    { name: "reap_leases", everyMinutes: 1, maxAttempts: 25 },
    { name: "release_tasks", everyMinutes: 1, maxAttempts: 25 },
    { name: "end_lost_consoles", everyMinutes: 1, maxAttempts: 25 },
    { name: "advance_rollout", everyMinutes: 0.5, maxAttempts: 1 },
    { name: "check_edges", everyMinutes: 5, maxAttempts: 1 },
    { name: "check_domains", everyMinutes: 1, maxAttempts: 1 },
    { name: "compare_domains", everyMinutes: 1, maxAttempts: 1 },
    { name: "look_after_certificates", everyMinutes: 1, maxAttempts: 1 },
    { name: "keep_load_balancers", everyMinutes: 1, maxAttempts: 1 },
    { name: "meter_load_balancers", everyMinutes: 5, maxAttempts: 1 },
    { name: "serve_pointers", everyMinutes: 10, maxAttempts: 25 },
    { name: "compare_pointers", everyMinutes: 60, maxAttempts: 1 },
    { name: "clean_up", everyMinutes: 10, maxAttempts: 25 },
    { name: "keep_history", everyMinutes: 60, maxAttempts: 5 },
    { name: "verify_audit", everyMinutes: 10, maxAttempts: 1 },
    { name: "check_invariants", everyMinutes: invariantsEveryMinutes, maxAttempts: 1 },
  ];
}

/** The tasks by name. A task that throws is tried again with backoff. */
export function tasksOf(
  deps: Deps,
  has: Partial<WorkersOwn> & { readonly metrics?: TaskMetrics | null } = {},
): TaskList {
  const { metrics = null, ...own } = has;
  const tasks = plainTasksOf(deps, { auditKeys: null, mailer: null, dnsProvider: null, ca: null, ...own });
  const withPoints = Object.entries(tasks).map(([name, task]) => {
    const run = (payload: unknown, helpers: JobHelpers) =>
      withCrashPoints(deps.crash, `worker.${name}`, async () => {
        await crashPoint("before-begin");
        const ended = metrics?.begin(name);
        await task(payload, helpers).catch((error: unknown) => {
          ended?.(false);
          throw error;
        });
        ended?.(true);
        await crashPoint("done");
      });
    return [name, run] as const;
  });
  return Object.fromEntries(withPoints);
}

/** Of the jobs by which a rollout sees how a region does. */
const regionKinds = Object.values(jobHandlers).flatMap(({ kinds }) => kinds);

/** Settings that only the worker has. */
type WorkersOwn = {
  readonly auditKeys: AuditKeys | null;
  readonly mailer: Mailer | null;
  readonly dnsProvider: DnsProvider | null;
  readonly ca: CertificateAuthority | null;
};
type Task = (payload: unknown, helpers: Pick<JobHelpers, "withPgClient" | "abortSignal">) => Promise<void>;

function plainTasksOf(
  deps: Deps,
  { auditKeys, mailer, dnsProvider, ca }: WorkersOwn,
): Readonly<Record<string, Task>> {
  const tasks: Readonly<Record<string, Task>> = {
    expire_removal_buffer: async (payload) => {
      const { organisation_id, server_id } = payload as { organisation_id: string; server_id: string };
      await expireRemovalBuffer(deps, organisation_id, server_id);
    },
    sweep_removal_buffers: async () => {
      const expired = await sweepRemovalBuffers(deps);
      if (expired > 0) deps.log.info({ expired }, "expired removal buffers");
    },
    follow_targets: async (payload) => {
      const { organisation_id, region } = payload as { organisation_id: string; region: string };
      await followTargets(deps.db, organisation_id, region);
    },
    keep_load_balancers: async () => {
      const kept = await keepLoadBalancers({ ...deps, hooks: serverHooks });
      if (kept.replaced + kept.made > 0) deps.log.warn({ ...kept }, "made machines of load balancers anew");
    },
    meter_load_balancers: async () => {
      const written = await meterTraffic(deps.db);
      if (written > 0) deps.log.debug({ written }, "traffic of load balancers is in usage");
    },
    reap_leases: async () => {
      const reaped = await expireLeases(deps, jobHandlers);
      if (reaped > 0) deps.log.warn({ reaped }, "requeued jobs whose lease had expired");
    },
    release_tasks: async (_payload, { withPgClient }) => {
      const gone = await withPgClient((owner) => releaseTasksOfTheDead(owner, taskNames));
      if (gone > 0) deps.log.warn({ gone }, "gave back the tasks of workers that were killed");
    },
    end_lost_consoles: async () => {
      const ended = await endLostConsoles(deps.db);
      if (ended > 0) deps.log.info({ ended }, "ended lost console sessions and tickets");
    },
    advance_rollout: async () => {
      const started = await startAutomaticRollout(deps.db, deps.releases);
      if (started !== null) deps.log.info({ version: started }, "a rollout of agents has started by itself");
      const advanced = await advanceRollout(deps.db, regionKinds);
      if (advanced?.status === "stopped") deps.log.error({ ...advanced }, "a rollout of agents has stopped");
      else if (advanced !== null) deps.log.info({ ...advanced }, "a rollout of agents goes on");
    },
    check_edges: async () => {
      const looked = await applyUnseenNetworks(deps.db, deps.settings.edgeCheckSeconds);
      if (looked > 0) deps.log.debug({ networks: looked }, "edges are compared with the wanted state");
    },
    check_domains: async () => {
      deps.log.debug({ ...(await checkDomains(deps)) }, "checked domains");
    },
    compare_domains: async (_payload, { abortSignal }) => {
      if (dnsProvider === null) return;
      const compared = await compareDomains(deps, dnsProvider, abortSignal);
      if (compared > 0) deps.log.debug({ zones: compared }, "zones are compared with the wanted ones");
    },
    step_certificate_order: async (payload) => {
      const { organisation_id, certificate_id } = payload as {
        organisation_id: string;
        certificate_id: string;
      };
      await stepOrder({ deps, ca, hooks: certificateHooks }, organisation_id, certificate_id);
    },
    look_after_certificates: async () => {
      const done = await lookAfterCertificates({ deps, ca, hooks: certificateHooks });
      deps.log.debug({ ...done }, "looked after certificates");
    },
    serve_pointers: async (_payload, { abortSignal }) => {
      const served = await serveAllPointers(deps, dnsProvider, abortSignal);
      if (served > 0) deps.log.debug({ served }, "reverse names are served");
    },
    compare_pointers: async (_payload, { abortSignal }) => {
      const differing = await compareAllPointers(deps, dnsProvider, abortSignal);
      if (differing > 0) deps.log.warn({ differing }, "reverse zones differed and are put right");
    },
    follow_addresses: async (payload) => {
      const { organisation_id, server_id } = payload as { organisation_id: string; server_id: string };
      await applyDomainsOfServer(deps.db, organisation_id, server_id);
    },
    end_domain: async (payload) => {
      const ended = payload as EndedDomain;
      const removed = await endDomain(deps.db, ended);
      deps.log.info({ domain: ended.domain_id, status: ended.status, removed }, "a domain has ended");
    },
    refresh_filters: async (payload) => {
      const { organisation_id, region } = payload as { organisation_id: string; region: string };
      await refreshFiltersOf(deps, organisation_id, region);
    },
    mail_password_reset: async (payload, helpers) => {
      await mailPasswordReset(deps, mailer, payload as ResetMailTask, helpers);
    },
    check_invariants: async (_payload, { withPgClient }) => {
      await withPgClient((owner) => checkInvariants(deps, owner));
    },
    verify_audit: async (_payload, { withPgClient }) => {
      if (auditKeys !== null) await withPgClient((owner) => verifyAudit(deps, owner, auditKeys));
    },
    keep_history: async (_payload, { withPgClient }) => {
      await withPgClient((owner) => keepHistory(deps, owner, auditKeys));
    },
    clean_up: async () => {
      deps.log.debug({ ...(await cleanUp(deps.db)) }, "cleaned up");
    },
  };
  const taskNames = Object.keys(tasks);
  return tasks;
}
