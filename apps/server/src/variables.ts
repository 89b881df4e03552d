import type { Program } from "./programs.ts";

/** A setting of the control plane. Its name is that of the environment variable. */
export type Variable = {
  /** The programs that need it. The others are started without it: a process cannot leak what it does not have. */
  readonly readBy: readonly Program[];
  /**
   * `secret`: never written into the configuration file, which names a file with it instead. `url`: the same for a URL
   * that has a password in it. `path`: of a file, from the folder of the configuration file.
   */
  readonly kind?: "secret" | "url" | "path";
};

const api = ["api", "doctor"] as const;
const apiAndWorker = ["api", "worker", "doctor"] as const;
const worker = ["worker", "doctor"] as const;
const panel = ["console", "doctor"] as const;
const owner = ["migrate", "seed", "restored"] as const;

const plain = (readBy: readonly Program[], names: readonly string[]) =>
  Object.fromEntries(names.map((name): [string, Variable] => [name, { readBy }]));

/** Every setting, by its name. docs/server-configuration.md explains each. */
export const variables: Readonly<Record<string, Variable>> = {
  KULE_DATABASE_URL: { readBy: apiAndWorker, kind: "url" },
  KULE_WORKER_DATABASE_URL: { readBy: worker, kind: "url" },
  KULE_OWNER_DATABASE_URL: { readBy: owner, kind: "url" },
  KULE_API_DATABASE_PASSWORD: { readBy: [...apiAndWorker, "migrate"], kind: "secret" },
  KULE_WORKER_DATABASE_PASSWORD: { readBy: [...worker, "migrate"], kind: "secret" },
  KULE_OWNER_DATABASE_PASSWORD: { readBy: owner, kind: "secret" },
  KULE_API_SECRET: { readBy: apiAndWorker, kind: "secret" },
  KULE_CONSOLE_KEY: { readBy: [...api, "console"], kind: "secret" },
  KULE_CONSOLE_SECRET: { readBy: panel, kind: "secret" },
  KULE_AUDIT_KEYS: { readBy: worker, kind: "secret" },
  KULE_MASTER_KEY: { readBy: worker, kind: "secret" },
  KULE_OIDC_FILE: { readBy: apiAndWorker, kind: "path" },
  KULE_MAIL_FILE: { readBy: apiAndWorker, kind: "path" },
  KULE_DNS_FILE: { readBy: apiAndWorker, kind: "path" },
  KULE_ACME_FILE: { readBy: apiAndWorker, kind: "path" },
  KULE_PUBLIC_CA_FILE: { readBy: apiAndWorker, kind: "path" },
  KULE_AGENT_RELEASES: { readBy: apiAndWorker, kind: "path" },
  ...plain(api, [
    "KULE_API_HOST",
    "KULE_API_PORT",
    "KULE_API_METRICS_PORT",
    "KULE_REPLICA_URL",
    "KULE_CONSOLE_IDLE_SECONDS",
    "KULE_CONSOLE_LENGTH_SECONDS",
    "KULE_RATE_LIMIT_PER_HOUR",
    "KULE_RATE_LIMIT_BURST",
    "KULE_ORGANISATION_LIMIT_PER_HOUR",
    "KULE_ORGANISATION_LIMIT_BURST",
    "KULE_CREATE_LIMIT_PER_HOUR",
    "KULE_CREATE_LIMIT_BURST",
    "KULE_TRUSTED_PROXIES",
  ]),
  ...plain(apiAndWorker, [
    "KULE_CONSOLE_ORIGINS",
    "KULE_LEASE_SECONDS",
    "KULE_EDGE_CHECK_SECONDS",
    "KULE_INVARIANTS_EVERY_MINUTES",
    "KULE_KEEP_JOB_STEPS_DAYS",
    "KULE_KEEP_AUDIT_DAYS",
    "KULE_DATABASE_POOL_SIZE",
    "KULE_LOG_LEVEL",
  ]),
  ...plain([...apiAndWorker, "restored"], ["KULE_REMOVAL_BUFFER_SECONDS", "KULE_ADDRESS_QUARANTINE_SECONDS"]),
  ...plain([...apiAndWorker, "console"], ["KULE_PUBLIC_URL", "KULE_METRICS_HOST"]),
  ...plain([...api, "console"], ["KULE_STOP_DELAY_SECONDS"]),
  ...plain(worker, ["KULE_DIRECT_REGIONS", "KULE_WORKER_METRICS_PORT"]),
  ...plain(panel, [
    "KULE_API_URL",
    "KULE_CONSOLE_HOST",
    "KULE_CONSOLE_PORT",
    "KULE_CONSOLE_METRICS_PORT",
    "KULE_CONSOLE_PUBLIC_URL",
    "KULE_CONSOLE_SOCKETS",
    "KULE_CONSOLE_TRUSTED_PROXIES",
    "KULE_CONSOLE_SECURE_COOKIES",
  ]),
};

/** A URL that has no password gets this one, so that no other secret has it in it. */
export const passwordsOfUrls: Readonly<Record<string, string>> = {
  KULE_DATABASE_URL: "KULE_API_DATABASE_PASSWORD",
  KULE_WORKER_DATABASE_URL: "KULE_WORKER_DATABASE_PASSWORD",
  KULE_OWNER_DATABASE_URL: "KULE_OWNER_DATABASE_PASSWORD",
};

/** `KULE_API_SECRET_FILE` names a file with KULE_API_SECRET. */
export const fileVariableOf = (name: string) => `${name}_FILE`;

export const mayBeInFile = ({ kind }: Variable) => kind === "secret" || kind === "url";
