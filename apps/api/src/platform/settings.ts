import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type AcmeFile, readAcmeFile } from "@kule/region-config/acme-file";
import { type DnsFile, readDnsFile } from "@kule/region-config/dns-file";
import { type OidcProvider, readOidcFile } from "@kule/region-config/oidc-file";
import { reverseZones } from "@kule/rules/domains/reverse-name";
import { withoutSlashesAtEnd } from "./slashes-at-end.ts";

/**
 * The settings of the process, from its environment; one place reads it, so a wrong value is named at start.
 */
export type Settings = {
  readonly databaseUrl: string;
  readonly host: string;
  readonly port: number;
  /** Null: the API serves no metrics. */
  readonly metricsPort: number | null;
  /** Null: the worker serves neither metrics nor its health. */
  readonly workerMetricsPort: number | null;
  /** Where both listen for scrapes. */
  readonly metricsHost: string;
  /** The versioned root as clients see it, for links. */
  readonly publicUrl: string;
  /**
   * The private certificate authority of `publicUrl`, which agents that enrol then trust alone: in PEM, and the SHA-256
   * of its DER in base64url. Null: a public one.
   */
  readonly publicAuthority: { readonly certificate: string; readonly sha256: string } | null;
  /**
   * Where the API's other processes reach this one, for consoles whose two sides are connected to different
   * ones. Null: at its host and port.
   */
  readonly replicaUrl: string | null;
  /**
   * Key ring for what is stored encrypted in the database: the first key seals, all open. Empty: such
   * features are off.
   */
  readonly secrets: readonly string[];
  /** Origins of pages that may open a console's websocket, in addition to the API's own. */
  readonly consoleOrigins: readonly string[];
  /** The OpenID Connect providers of the sign-in. */
  readonly oidcProviders: readonly OidcProvider[];
  /** The file that names the mail server. Null: nothing is mailed. Only the worker reads it. */
  readonly mailFile: string | null;
  /**
   * The installation's DNS and the path of its file, from which the worker also reads the provider. Null: no domains are
   * served.
   */
  readonly dns: { readonly path: string; readonly file: DnsFile } | null;
  /** The CA of managed certificates and the path of its file. Null: certificates can only be uploaded. */
  readonly acme: { readonly path: string; readonly file: AcmeFile } | null;
  /** The folder with the releases of the agent. Null: agents are not updated. */
  readonly agentReleases: string | null;
  /** A console without any input ends after this. */
  readonly consoleIdleSeconds: number;
  readonly consoleLengthSeconds: number;
  readonly removalBufferSeconds: number;
  /** How long a released address is in quarantine before a server gets it again (ARP caches). */
  readonly addressQuarantineSeconds: number;
  /** How long a claimed job is held without a report. */
  readonly leaseSeconds: number;
  /** After a stop signal new requests are answered for so long, while the process says that it is not ready. */
  readonly stopDelaySeconds: number;
  /** How long a network goes without the edge being compared with it. */
  readonly edgeCheckSeconds: number;
  /** How often the worker checks the database against its invariants. */
  readonly invariantsEveryMinutes: number;
  /** How long the steps of an ended job are kept, by whole months. Null: for ever. */
  readonly keepJobStepsDays: number | null;
  /** How long an entry of the audit trail is kept, by whole months. Null: for ever. */
  readonly keepAuditDays: number | null;
  readonly rateLimitPerHour: number;
  readonly rateLimitBurst: number;
  /** Of all callers of one organisation together. */
  readonly organisationLimitPerHour: number;
  readonly organisationLimitBurst: number;
  /** How much one organisation may create, whichever of its members and tokens sends the requests. */
  readonly createLimitPerHour: number;
  readonly createLimitBurst: number;
  /**
   * Key ring of the consoles, which may state the address of their visitors. Empty: all visitors of a console
   * count as its address.
   */
  readonly consoleKeys: readonly string[];
  /** How many reverse proxies add to X-Forwarded-For before a request reaches us. */
  readonly trustedProxies: number;
  readonly poolSize: number;
  readonly logLevel: string;
  /** Checks that belong to tests: responses against the contract, tenant filters, audit rows. */
  readonly testBuild: boolean;
};

export class BadSettings extends Error {}

/**
 * Reads the settings of `serve` and `worker`.
 *
 * @throws BadSettings naming every variable that is missing or wrong
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const problems: string[] = [];
  const text = (name: string, fallback?: string): string => {
    const value = environment[name];
    if (value !== undefined && value !== "") return value;
    if (fallback !== undefined) return fallback;
    problems.push(`${name} is not set`);
    return "";
  };
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const value = text(name, String(fallback));
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    problems.push(`${name} is ${JSON.stringify(value)}; a whole number from ${min} to ${max} is needed`);
    return fallback;
  };
  const optionalInteger = (name: string, min: number, max: number): number | null =>
    text(name, "") === "" ? null : integer(name, min, min, max);
  const url = (name: string, protocols: readonly string[], fallback?: string): string => {
    const value = text(name, fallback);
    if (value === "") return value;
    if (protocols.includes(URL.parse(value)?.protocol ?? "")) return withoutSlashesAtEnd(value);
    problems.push(
      `${name} is not a URL that starts with ${protocols.map((each) => `${each}//`).join(" or ")}`,
    );
    return value;
  };

  const origins = (value: string): string[] =>
    value
      .split(/[ ,]+/)
      .filter((each) => each !== "")
      .flatMap((each) => {
        const parsed = URL.parse(each);
        if (parsed !== null && /^https?:$/.test(parsed.protocol)) return [parsed.origin];
        problems.push(
          `KULE_CONSOLE_ORIGINS has ${JSON.stringify(each)}, which is no origin like https://panel.example`,
        );
        return [];
      });

  const keyRing = (name: string): string[] => {
    const keys = text(name, "")
      .split(",")
      .map((key) => key.trim())
      .filter((key) => key !== "");
    if (keys.some((key) => key.length < 32))
      problems.push(`${name} must hold secrets of at least 32 characters, separated by commas`);
    return keys;
  };
  const secrets = keyRing("KULE_API_SECRET");
  const consoleKeys = keyRing("KULE_CONSOLE_KEY");

  const consoleOrigins = origins(text("KULE_CONSOLE_ORIGINS", ""));
  const oidcProviders = (): readonly OidcProvider[] => {
    const path = text("KULE_OIDC_FILE", "");
    if (path === "") return [];
    if (consoleOrigins.length === 0)
      problems.push(
        "KULE_OIDC_FILE needs KULE_CONSOLE_ORIGINS: providers send browsers back to the first of them",
      );
    if (secrets.length === 0)
      problems.push("KULE_OIDC_FILE needs KULE_API_SECRET, which seals what browsers carry");
    const read = readOidcFile(path, environment);
    if (typeof read !== "string") return read;
    problems.push(read);
    return [];
  };

  const mailFile = text("KULE_MAIL_FILE", "");
  if (mailFile !== "" && consoleOrigins.length === 0)
    problems.push("KULE_MAIL_FILE needs KULE_CONSOLE_ORIGINS: mailed links lead to the first of them");

  const dns = (): Settings["dns"] => {
    const path = text("KULE_DNS_FILE", "");
    if (path === "") return null;
    const file = readDnsFile(path);
    if (typeof file === "string") {
      problems.push(file);
      return null;
    }
    for (const block of file.reverseZones) {
      const zones = reverseZones(block);
      if (!zones.ok)
        problems.push(`${path}: reverse_zones: ${zones.flaw.message}\n    fix: ${zones.flaw.fix}`);
    }
    return { path, file };
  };

  const acme = (): Settings["acme"] => {
    const path = text("KULE_ACME_FILE", "");
    if (path === "") return null;
    const file = readAcmeFile(path);
    if (typeof file !== "string") return { path, file };
    problems.push(file);
    return null;
  };

  const publicAuthority = (): Settings["publicAuthority"] => {
    const path = text("KULE_PUBLIC_CA_FILE", "");
    if (path === "") return null;
    try {
      const certificate = new X509Certificate(readFileSync(path));
      if (!certificate.ca) {
        problems.push(`KULE_PUBLIC_CA_FILE: the certificate in ${path} is not one of an authority`);
        return null;
      }
      const sha256 = createHash("sha256").update(certificate.raw).digest("base64url");
      return { certificate: certificate.toString(), sha256 };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push(`KULE_PUBLIC_CA_FILE: ${path} holds no certificate in PEM that can be read (${why})`);
      return null;
    }
  };

  const host = text("KULE_API_HOST", "127.0.0.1");
  const port = integer("KULE_API_PORT", 8080, 0, 65_535);
  const logLevel = text("KULE_LOG_LEVEL", "info");
  if (!["silent", "fatal", "error", "warn", "info", "debug", "trace"].includes(logLevel))
    problems.push(`KULE_LOG_LEVEL is ${JSON.stringify(logLevel)}`);
  const rateLimitPerHour = integer("KULE_RATE_LIMIT_PER_HOUR", 3600, 1, 1_000_000_000);
  const rateLimitBurst = integer("KULE_RATE_LIMIT_BURST", 600, 1, 1_000_000_000);
  const settings: Settings = {
    databaseUrl: url("KULE_DATABASE_URL", ["postgres:", "postgresql:"]),
    host,
    port,
    metricsPort: optionalInteger("KULE_API_METRICS_PORT", 0, 65_535),
    workerMetricsPort: optionalInteger("KULE_WORKER_METRICS_PORT", 0, 65_535),
    metricsHost: text("KULE_METRICS_HOST", host),
    publicUrl: url("KULE_PUBLIC_URL", ["http:", "https:"], `http://${hostInUrl(host)}:${port}/api/v1`),
    publicAuthority: publicAuthority(),
    replicaUrl: text("KULE_REPLICA_URL", "") === "" ? null : url("KULE_REPLICA_URL", ["http:", "https:"]),
    consoleIdleSeconds: integer("KULE_CONSOLE_IDLE_SECONDS", 30 * 60, 5, 86_400),
    consoleLengthSeconds: integer("KULE_CONSOLE_LENGTH_SECONDS", 8 * 60 * 60, 5, 604_800),
    secrets,
    consoleKeys,
    consoleOrigins,
    oidcProviders: oidcProviders(),
    dns: dns(),
    acme: acme(),
    mailFile: mailFile === "" ? null : mailFile,
    agentReleases: text("KULE_AGENT_RELEASES", "") || null,
    removalBufferSeconds: integer("KULE_REMOVAL_BUFFER_SECONDS", 259_200, 0, 31_536_000),
    addressQuarantineSeconds: integer("KULE_ADDRESS_QUARANTINE_SECONDS", 600, 0, 31_536_000),
    leaseSeconds: integer("KULE_LEASE_SECONDS", 90, 2, 3600),
    stopDelaySeconds: integer("KULE_STOP_DELAY_SECONDS", 0, 0, 60),
    edgeCheckSeconds: integer("KULE_EDGE_CHECK_SECONDS", 21_600, 60, 31_536_000),
    invariantsEveryMinutes: integer("KULE_INVARIANTS_EVERY_MINUTES", 10, 1, 1440),
    keepJobStepsDays: optionalInteger("KULE_KEEP_JOB_STEPS_DAYS", 30, 36_500),
    keepAuditDays: optionalInteger("KULE_KEEP_AUDIT_DAYS", 90, 36_500),
    rateLimitPerHour,
    rateLimitBurst,
    organisationLimitPerHour: integer(
      "KULE_ORGANISATION_LIMIT_PER_HOUR",
      Math.min(10 * rateLimitPerHour, 1_000_000_000),
      1,
      1_000_000_000,
    ),
    organisationLimitBurst: integer(
      "KULE_ORGANISATION_LIMIT_BURST",
      Math.min(10 * rateLimitBurst, 1_000_000_000),
      1,
      1_000_000_000,
    ),
    createLimitPerHour: integer(
      "KULE_CREATE_LIMIT_PER_HOUR",
      Math.ceil(rateLimitPerHour / 6),
      1,
      1_000_000_000,
    ),
    createLimitBurst: integer("KULE_CREATE_LIMIT_BURST", Math.ceil(rateLimitBurst / 6), 1, 1_000_000_000),
    trustedProxies: integer("KULE_TRUSTED_PROXIES", 0, 0, 10),
    poolSize: integer("KULE_DATABASE_POOL_SIZE", 20, 2, 500),
    logLevel,
    testBuild: environment.KULE_TEST_BUILD === "1",
  };
  if (problems.length > 0) throw new BadSettings(problems.join("\n"));
  return settings;
}

function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
