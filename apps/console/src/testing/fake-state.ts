import type { Schemas } from "@kule/contract/schemas";
import { fakeInvariants } from "./fake-invariants.ts";
import { fakeActions, fakeId } from "./fake-records.ts";
import { fakeCapacity, fakeRegion } from "./fake-regions.ts";

type Job = Schemas["Job"];
type Server = Schemas["Server"];

export type FakeUser = {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly name: string;
  /** Null for an operator. */
  readonly organisation: Schemas["OrganisationRef"] | null;
  readonly role: Schemas["Role"] | null;
  readonly permissions: readonly string[];
};

const acme = { id: fakeId("org"), slug: "acme", name: "Acme Hosting" };
const member = [
  "member:read",
  "organisation:read",
  "server:read",
  "server:create",
  "server:update",
  "server:delete",
  "server:rebuild",
  "server:password_reset",
  "server:console",
  "ssh_key:read",
  "ssh_key:create",
  "ssh_key:update",
  "ssh_key:delete",
  "network:read",
  "network:create",
  "network:update",
  "network:delete",
  "gateway:read",
  "gateway:create",
  "gateway:update",
  "gateway:delete",
  "firewall:read",
  "firewall:create",
  "firewall:update",
  "firewall:delete",
  "public_ip:read",
  "public_ip:create",
  "public_ip:update",
  "public_ip:delete",
  "job:read",
  "job:cancel",
  "job:retry",
  "catalog:read",
  "quota:read",
  "usage:read",
];

const ofAdmins = [
  "audit:read",
  "member:manage",
  "public_ip:unprotect",
  "server:purge",
  "server:unprotect",
  "token:manage",
  "token:read",
];

function fakeOrganisation(ref: Schemas["OrganisationRef"]): Schemas["Organisation"] {
  const now = new Date().toISOString();
  return {
    ...ref,
    status: "active",
    limits: { servers: null },
    generation: 1,
    created_at: now,
    updated_at: now,
  };
}

/** A pool with its ranges and addresses. */
export type FakePool = {
  readonly pool: Schemas["IpPool"];
  readonly ranges: Schemas["IpPoolRange"][];
  readonly allocations: Schemas["IpPoolAllocation"][];
};

/** The fake API's world. Jobs progress only when a test requests it. */
export class FakeState {
  /** Whether the installation has a mail server. */
  sendsMail = true;
  /** The password reset links that were requested. */
  readonly resetMails: Schemas["PasswordResetRequest"][] = [];
  readonly users: FakeUser[] = [
    {
      id: fakeId("usr"),
      email: "ada@example.org",
      password: "correct horse",
      name: "Ada Lovelace",
      organisation: acme,
      role: "admin",
      permissions: [...member, ...ofAdmins],
    },
    {
      id: fakeId("usr"),
      email: "mia@example.org",
      password: "making things",
      name: "Mia Member",
      organisation: acme,
      role: "member",
      permissions: member,
    },
    {
      id: fakeId("usr"),
      email: "vera@example.org",
      password: "only looking",
      name: "Vera Viewer",
      organisation: acme,
      role: "viewer",
      permissions: member.filter((permission) => permission.endsWith(":read")),
    },
    {
      id: fakeId("usr"),
      email: "grace@example.org",
      password: "keeps it running",
      name: "Grace Operator",
      organisation: null,
      role: null,
      permissions: [
        ...member,
        ...ofAdmins,
        "operator:drift",
        "operator:invariants",
        "operator:jobs",
        "operator:ip_pools",
        "operator:organisations",
        "operator:regions",
        "operator:servers",
      ],
    },
  ];
  readonly members: Schemas["Member"][] = this.users.flatMap(({ id, email, name, role, organisation }) =>
    role === null || organisation === null
      ? []
      : [
          {
            id: fakeId("mem"),
            user: { id, email, name },
            role,
            second_factor: false,
            created_at: "2026-10-01T08:00:00.000Z",
          },
        ],
  );
  readonly invitations: { readonly invitation: Schemas["Invitation"]; readonly secret: string }[] = [];
  /** Beside the organisation that a user has from the beginning. */
  readonly memberships: {
    readonly user: string;
    readonly organisation: Schemas["OrganisationRef"];
    readonly role: Schemas["Role"];
  }[] = [];
  /** Whether people have an authenticator app and a passkey. */
  hasTwoFactor = false;
  /** A provider that the signed-in person has linked. */
  hasProvider = false;
  readonly tokens: Schemas["Token"][] = [];
  readonly audit: Schemas["AuditEntry"][] = [];
  readonly sessions = new Map<string, FakeUser>();
  readonly servers: Server[] = [];
  readonly jobs: Job[] = [];
  readonly sshKeys: Schemas["SshKey"][] = [];
  readonly networks: Schemas["Network"][] = [];
  readonly subnets: Schemas["Subnet"][] = [];
  readonly reservations: Schemas["Reservation"][] = [];
  /** Addresses in quarantine: detached from a server, and not available yet. */
  readonly quarantinedAddresses: { readonly subnetId: string; readonly address: string }[] = [];
  readonly firewalls: Schemas["Firewall"][] = [];
  readonly gateways: Schemas["Gateway"][] = [];
  readonly portForwards: Schemas["PortForward"][] = [];
  readonly drift: Schemas["Drift"][] = [];
  readonly stuckJobs: Schemas["StuckJob"][] = [];
  readonly regions: Schemas["Region"][] = [{ ...fakeRegion }];
  readonly agentTokens: Schemas["Token"][] = [];
  invariants: Schemas["InvariantReport"] = fakeInvariants();
  /** Of every region. */
  capacity: Schemas["RegionCapacity"] = fakeCapacity;
  /** No worker answers a requested check of the invariants. */
  workerIsAway = false;
  readonly organisations: Schemas["Organisation"][] = [fakeOrganisation(acme)];
  /** Limits that were set, in the API's units; other quotas have none. */
  readonly limits = new Map<Schemas["QuotaName"], number | null>();
  readonly ipPools: FakePool[] = [];
  readonly publicIps: Schemas["PublicIp"][] = [];
  readonly consoleSessions: Schemas["ConsoleSession"][] = [];
  /** Called with each change of a job. */
  readonly jobWatchers = new Set<(job: Job) => void>();

  userOf(token: string): FakeUser {
    const user = this.sessions.get(token);
    if (user === undefined) throw new Error("no such session");
    return user;
  }

  server(id: string | undefined): Server | undefined {
    return this.servers.find((server) => server.id === id);
  }

  job(id: string | undefined): Job | undefined {
    return this.jobs.find((job) => job.id === id);
  }

  changeServer(id: string, change: Partial<Server>): Server {
    const server = this.server(id);
    if (server === undefined) throw new Error(`no server ${id}`);
    Object.assign(server, change, {
      generation: server.generation + 1,
      updated_at: new Date().toISOString(),
    });
    server.actions = fakeActions(server);
    return server;
  }

  changeJob(id: string, change: Partial<Job>): Job {
    const job = this.job(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    Object.assign(job, change);
    for (const watcher of this.jobWatchers) watcher(job);
    return job;
  }

  /** The agent takes the job and reports one step; the previous step is done. */
  step(
    id: string,
    phase: Schemas["JobPhase"],
    name: string,
    progress: number,
    message: string | null = null,
  ): void {
    const job = this.job(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    const now = new Date().toISOString();
    const steps = job.steps.map((step) =>
      step.finished_at === null ? { ...step, status: "succeeded" as const, finished_at: now } : step,
    );
    this.changeJob(id, {
      status: "running",
      phase,
      progress,
      attempt: Math.max(1, job.attempt),
      started_at: job.started_at ?? now,
      steps: [
        ...steps,
        {
          seq: steps.length + 1,
          attempt: Math.max(1, job.attempt),
          phase,
          name,
          status: "running",
          message,
          started_at: now,
          finished_at: null,
          external_ref: null,
        },
      ],
    });
  }

  /** The job succeeds and its server has the result of the job. */
  succeed(id: string): void {
    const job = this.job(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    const now = new Date().toISOString();
    const observed = { job_id: null, observed_at: now };
    if (job.kind === "ServerCreate" || job.kind === "ServerRestore")
      this.changeServer(job.resource.id, { ...observed, status: "running", power_state: "on" });
    if (job.kind === "ServerPower" || job.kind === "ServerRebuild" || job.kind === "ServerResize") {
      const isOn = job.action !== "stop" && job.action !== "shutdown";
      this.changeServer(job.resource.id, {
        ...observed,
        status: isOn ? "running" : "stopped",
        power_state: isOn ? "on" : "off",
      });
    }
    if (job.kind === "ServerUpdate" || job.kind === "ServerPasswordReset")
      this.changeServer(job.resource.id, observed);
    if (job.kind === "ServerStop") this.changeServer(job.resource.id, { ...observed, power_state: "off" });
    this.changeJob(id, {
      status: "succeeded",
      done: true,
      phase: "verify",
      progress: 100,
      cancellable: false,
      finished_at: now,
      steps: job.steps.map((step) => ({
        ...step,
        status: "succeeded" as const,
        finished_at: step.finished_at ?? now,
      })),
    });
  }

  fail(id: string, error: Schemas["JobError"]): void {
    const job = this.job(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    const now = new Date().toISOString();
    this.changeServer(job.resource.id, {
      job_id: null,
      status: "error",
      status_reason: { code: "create_failed", message: error.message, job_id: id },
    });
    this.changeJob(id, {
      status: "failed",
      done: true,
      error,
      cancellable: false,
      retryable: error.retryable,
      finished_at: now,
      steps: job.steps.map((step) =>
        step.finished_at === null ? { ...step, status: "failed" as const, finished_at: now } : step,
      ),
    });
  }
}
