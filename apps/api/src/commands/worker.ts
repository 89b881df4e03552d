import { batteryHook } from "@kule/crash-points/crash-hook";
import type { DnsProvider } from "@kule/dns/dns-provider";
import type { Deps } from "../platform/deps.ts";
import { dnsInstallation } from "../platform/dns-installation.ts";
import type { Logger } from "../platform/log.ts";
import { openDeps } from "../platform/open-deps.ts";
import { BadSettings, type Settings } from "../platform/settings.ts";
import type { CertificateAuthority } from "../products/certificates/index.ts";
import { jobHandlers } from "../products/job-handlers.ts";
import { readAuditKeys } from "../worker/audit-seals/audit-keys.ts";
import { keepWorking } from "../worker/keep-working.ts";
import { readMailer } from "../worker/mailer.ts";
import { runWorker } from "../worker/run.ts";
import { createTaskMetrics } from "../worker/task-metrics.ts";
import { serveMetrics } from "./metrics-server.ts";
import { untilStopSignal } from "./stop-signal.ts";

/** Runs the control plane's own tasks until SIGTERM or SIGINT. graphile-worker's tables are the worker's role's. */
export async function workerCommand(
  settings: Settings,
  environment: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<void> {
  const workerUrl = environment.KULE_WORKER_DATABASE_URL;
  if (workerUrl === undefined || workerUrl === "")
    throw new BadSettings(
      "KULE_WORKER_DATABASE_URL is not set: give the URL of kule_worker, whose password `kule-api migrate` sets to KULE_WORKER_DATABASE_PASSWORD",
    );
  const auditKeys = readAuditKeys(environment);
  if (settings.keepAuditDays !== null && auditKeys === null)
    throw new BadSettings(
      "KULE_KEEP_AUDIT_DAYS needs KULE_AUDIT_KEYS: months of the audit trail are removed only after they were verified against their seals",
    );
  const mailer = readMailer(settings, environment);
  // The agent's whole program: loaded only where this worker drives regions itself.
  const direct =
    (environment.KULE_DIRECT_REGIONS ?? "").trim() === ""
      ? null
      : await import("../worker/direct-regions.ts");
  const regions = direct?.readDirectRegions(environment) ?? [];
  const own = settings.dns === null ? null : await ownWork(settings.dns, environment);
  const ca = settings.acme === null ? null : await openCa(settings.acme, environment);
  const stop = untilStopSignal();
  const open = await openDeps(settings, log, batteryHook(environment));
  const metrics = createTaskMetrics(open.deps);
  let scraped: Awaited<ReturnType<typeof serveMetrics>> = null;
  try {
    scraped = await serveMetrics({
      host: settings.metricsHost,
      port: settings.workerMetricsPort,
      variable: "KULE_WORKER_METRICS_PORT",
      registry: open.deps.metrics.registry,
      flaw: () => metrics.flaw(),
    });
    void stop.then((signal) => log.info({ signal }, "stopping"));
    const stopping = new AbortController();
    void stop.then(() => stopping.abort());
    await Promise.all([
      keepWorking(
        () =>
          runWorker({
            deps: open.deps,
            workerUrl,
            auditKeys,
            mailer,
            dnsProvider: own?.provider ?? null,
            ca,
            metrics,
          }),
        stop,
        log,
        { onChange: (isRunning) => metrics.setRunning(isRunning) },
      ),
      // A region that cannot be worked for ends the process, as it would end its agent.
      direct?.workDirectRegions(open.deps, regions, environment, stopping.signal),
      own?.work(open.deps, stopping.signal),
    ]);
  } finally {
    scraped?.close();
    scraped?.closeAllConnections();
    ca?.client.close();
    await open.close();
  }
  log.info("stopped");
}

/** The CA of managed certificates. Its code is loaded only where there is one. */
async function openCa(
  acme: NonNullable<Settings["acme"]>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CertificateAuthority> {
  const { openCertificateAuthority } = await import("../worker/certificate-authority.ts");
  return openCertificateAuthority(acme, environment);
}

/**
 * What does the control plane's own jobs, which are those of domains. Its code is loaded only where there are any.
 *
 * @throws BadSettings for a provider whose key is not there
 */
async function ownWork(
  { path, file }: NonNullable<Settings["dns"]>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{
  readonly provider: DnsProvider;
  readonly work: (deps: Deps, stop: AbortSignal) => Promise<void>;
}> {
  const [{ dnsWork, openDnsProvider }, { workOwnJobs }] = await Promise.all([
    import("../worker/dns-work.ts"),
    import("../worker/own-jobs.ts"),
  ]);
  const provider = openDnsProvider(path, environment);
  const work = dnsWork(provider, dnsInstallation(file));
  return { provider, work: (deps, stop) => workOwnJobs(deps, jobHandlers, work, stop) };
}
