import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { registerAudit } from "./fake-audit.ts";
import { registerConsoleSessions } from "./fake-consoles.ts";
import { fakeAttachment, registerFirewalls } from "./fake-firewalls.ts";
import { registerGateways } from "./fake-gateways.ts";
import { registerIpPools } from "./fake-ip-pools.ts";
import { relabelled } from "./fake-labels.ts";
import { registerNetworks } from "./fake-networks.ts";
import type { Operation } from "./fake-operation.ts";
import { registerOperator } from "./fake-operator.ts";
import { narrowedPage, page } from "./fake-page.ts";
import { registerPasswordResets } from "./fake-password-resets.ts";
import { registerPeople } from "./fake-people.ts";
import { registerPublicIps } from "./fake-public-ips.ts";
import { fakeCatalog, fakeJob, fakeNetwork, fakeServer, fakeSshKey, fakeSubnet } from "./fake-records.ts";
import { registerServerActions } from "./fake-server-actions.ts";
import type { FakeState } from "./fake-state.ts";
import { registerTokens } from "./fake-tokens.ts";
import { registerUsage } from "./fake-usage.ts";

type Precondition = Schemas["Precondition"];

export function registerProducts(operation: Operation, state: FakeState, app: Hono, calls: string[]): void {
  operation("get", "/catalog", "getCatalog", () => ({ status: 200, body: fakeCatalog }));
  registerServers(operation, state);
  registerServerActions(operation, state);
  registerJobs(operation, state, app, calls);
  registerSshKeys(operation, state);
  registerNetworks(operation, state);
  registerFirewalls(operation, state);
  registerGateways(operation, state);
  registerOperator(operation, state);
  registerPublicIps(operation, state);
  registerConsoleSessions(operation, state);
  registerIpPools(operation, state);
  registerAudit(operation, state);
  registerPeople(operation, state);
  registerPasswordResets(operation, state);
  registerTokens(operation, state);
  registerUsage(operation, state, app, calls);
}

/** Newest first. */
const byAge = (a: { readonly created_at: string }, b: { readonly created_at: string }) =>
  a.created_at < b.created_at ? 1 : -1;

function registerServers(operation: Operation, state: FakeState): void {
  operation("get", "/servers", "listServers", ({ query, fail }) => {
    const statuses = query.getAll("status");
    const meant = state.servers.filter((server) => statuses.length === 0 || statuses.includes(server.status));
    return narrowedPage(query.has("sort") ? meant : meant.toSorted(byAge), query, fail);
  });

  operation<Schemas["ServerCreate"]>("post", "/servers", "createServer", ({ body, query, fail, token }) => {
    const errors = wrongFields(state, body);
    if (errors.length > 0) return fail(422, "validation_failed", "The request is wrong", { errors });
    const blockers = whatBlocks(state, body);
    const along = state.networks.length === 0;
    const network = state.networks[0] ?? fakeNetwork({ name: "default", region: "ist1" }, true);
    const subnet = along ? fakeSubnet({ name: "app", tier: "app" }, network) : null;
    const withSubnet =
      subnet === null
        ? network
        : {
            ...network,
            subnets: [{ id: subnet.id, name: subnet.name, tier: subnet.tier, cidr: subnet.cidr }],
          };
    const server = fakeServer(body, withSubnet, state.servers.length);
    const created = subnet === null ? null : { network: withSubnet, subnet };
    if (query.get("dry_run") === "true")
      return {
        status: 200,
        body: {
          dry_run: true,
          would: blockers.length > 0 ? null : { server, job_kind: "ServerCreate", created },
          blockers,
        } satisfies Schemas["DryRun"],
      };
    const [blocker] = blockers;
    if (blocker !== undefined) return fail(409, blocker.code, blocker.message, { precondition: blocker });
    if (created !== null) {
      state.networks.push(created.network);
      state.subnets.push(created.subnet);
    }
    const job = fakeJob("ServerCreate", server.id, state.userOf(token).name);
    server.job_id = job.id;
    state.servers.push(server);
    for (const firewall of state.firewalls.filter(({ id }) => server.firewall_ids.includes(id)))
      firewall.attachments.push(fakeAttachment(state, { server_id: server.id }));
    state.jobs.unshift(job);
    const isToldLater = server.image.os_family === "windows" && body.start === false;
    const password =
      server.ssh_key_ids.length === 0 && !isToldLater ? { console_password: "Galata-7f3k-Kule-92xm" } : {};
    return {
      status: 202,
      body: {
        server,
        job,
        ...password,
        ...(created === null ? {} : { created }),
      } satisfies Schemas["ServerCreated"],
    };
  });

  operation("get", "/servers/:server_id", "getServer", ({ params, fail }) => {
    const server = state.server(params.server_id);
    if (server === undefined) return fail(404, "not_found", "There is no such server");
    return { status: 200, body: server };
  });

  operation("delete", "/servers/:server_id", "deleteServer", ({ params, query, fail, token }) => {
    const server = state.server(params.server_id);
    if (server === undefined) return fail(404, "not_found", "There is no such server");
    if (query.get("purge") === "true") {
      const job = fakeJob("ServerDestroy", server.id, state.userOf(token).name);
      state.jobs.unshift(job);
      return {
        status: 202,
        body: { server: state.changeServer(server.id, { status: "deleting", job_id: job.id }), job },
      };
    }
    const { allowed, code, reason } = server.actions.delete;
    if (!allowed)
      return fail(409, code ?? "invalid_state", reason ?? "", {
        precondition: {
          name: "server_not_protected",
          code: code ?? "invalid_state",
          message: reason ?? "",
          resource: server.id,
          fix: null,
        },
      });
    const user = state.userOf(token);
    const job = fakeJob("ServerStop", server.id, user.name);
    state.jobs.unshift(job);
    state.changeServer(server.id, {
      status: "pending_deletion",
      job_id: job.id,
      deletion: {
        requested_at: new Date().toISOString(),
        requested_by: { type: "user", id: user.id, name: user.name },
        purge_at: new Date(Date.now() + 71.4 * 3600_000).toISOString(),
        restores_to: server.status === "error" ? "error" : "running",
      },
    });
    return { status: 202, body: { server, job } };
  });

  operation(
    "post",
    "/servers/:server_id/cancel-deletion",
    "cancelServerDeletion",
    ({ params, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      if (server.deletion === null) return fail(409, "invalid_state", "The server is not marked for removal");
      const job = fakeJob("ServerRestore", server.id, state.userOf(token).name);
      state.jobs.unshift(job);
      state.changeServer(server.id, { status: "starting", deletion: null, job_id: job.id });
      return { status: 202, body: { server, job } };
    },
  );

  operation<Schemas["ConsoleOpen"]>(
    "post",
    "/servers/:server_id/console",
    "openServerConsole",
    ({ body, params, fail }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      if (body.take_over !== true && server.name === "busy")
        return fail(409, "console_in_use", "Somebody else has this console open");
      if (server.name === "far-away")
        return fail(503, "region_unavailable", "region ist1 does not answer at the moment");
      const type = body.type ?? "serial";
      return {
        status: 201,
        body: {
          session_id: "con_00000000000000000000000001",
          type,
          url: `ws://api.test/api/v1/servers/${server.id}/console/con_00000000000000000000000001`,
          protocol: `kule.console.${type}.v1`,
          ticket: "one-time",
          expires_at: new Date(Date.now() + 60_000).toISOString(),
          idle_seconds: 1800,
          length_seconds: 28_800,
          features: ["paste"],
        },
      };
    },
  );
}

/** Supports only the simplest terms: `k=v` and `k`. */
function wrongFields(state: FakeState, body: Schemas["ServerCreate"]): Schemas["FieldError"][] {
  const errors: Schemas["FieldError"][] = [];
  const add = (field: string, code: Schemas["FieldError"]["code"], message: string) =>
    errors.push({ field, code, message, pointer: `/${field}` });
  const image = fakeCatalog.images.find(({ slug }) => slug === body.image);
  if (image === undefined) add("image", "not_found", "no such image");
  else if (!image.packages_allowed.includes(body.package))
    add("package", "os_plan_mismatch", `${image.name} needs a bigger package`);
  if (body.subnet_id !== undefined && !state.subnets.some(({ id }) => id === body.subnet_id))
    add("subnet_id", "not_found", "no such subnet");
  for (const [index, id] of (body.firewall_ids ?? []).entries()) {
    const there = state.firewalls.find((each) => each.id === id);
    if (there === undefined) add(`firewall_ids/${index}`, "not_found", "no such firewall");
    else if (there.region !== (body.region ?? "ist1"))
      add(`firewall_ids/${index}`, "conflicts_with", `is not in region ${body.region}`);
  }
  if (/^\d+$/.test(body.name)) add("name", "invalid_format", "must have at least one letter");
  return errors;
}

function whatBlocks(state: FakeState, body: Schemas["ServerCreate"]): Precondition[] {
  const blockers: Precondition[] = [];
  if (state.servers.some(({ name }) => name === body.name))
    blockers.push({
      name: "server_name_free",
      code: "name_taken",
      message: `A server called ${body.name} exists already`,
      resource: null,
      fix: null,
    });
  const region = fakeCatalog.regions.find(({ slug }) => slug === (body.region ?? "ist1"));
  if (region?.status !== "ok")
    blockers.push({
      name: "region_open",
      code: "region_unavailable",
      message: `Region ${region?.slug} is not reachable`,
      resource: null,
      fix: null,
    });
  return blockers;
}

function registerJobs(operation: Operation, state: FakeState, app: Hono, calls: string[]): void {
  const named = (job: Schemas["Job"]): Schemas["Job"] => {
    const { type, id } = job.resource;
    const found = type === "server" ? state.server(id) : state.networks.find((network) => network.id === id);
    return { ...job, resource: { type, id, name: found?.name ?? null } };
  };
  operation("get", "/jobs", "listJobs", ({ query }) => {
    const statuses = query.getAll("status");
    const kinds = query.getAll("kind");
    const jobs = state.jobs
      .filter((job) => kinds.length === 0 || kinds.includes(job.kind))
      .filter((job) => !query.has("region") || job.region === query.get("region"))
      .filter((job) => !query.has("resource") || job.resource.id === query.get("resource"))
      .filter((job) => statuses.length === 0 || statuses.includes(job.status));
    return page(
      jobs.map((job) => ({ ...named(job), steps: [] })),
      query,
    );
  });
  operation("get", "/jobs/:job_id", "getJob", ({ params, fail }) => {
    const job = state.job(params.job_id);
    return job === undefined
      ? fail(404, "not_found", "There is no such job")
      : { status: 200, body: named(job) };
  });
  for (const act of ["retry", "cancel"] as const)
    operation("post", `/jobs/:job_id/${act}`, `${act}Job`, ({ params, fail }) => {
      const job = state.job(params.job_id);
      if (job === undefined) return fail(404, "not_found", "There is no such job");
      if (act === "retry" ? !job.retryable : !job.cancellable)
        return fail(409, "invalid_state", `The job cannot be asked to ${act} now`);
      const change: Partial<Schemas["Job"]> =
        act === "retry"
          ? { status: "queued", done: false, error: null, retryable: false, finished_at: null, phase: null }
          : { cancel_requested: true };
      if (act === "retry") state.changeServer(job.resource.id, { status: "creating", job_id: job.id });
      return { status: 202, body: named(state.changeJob(job.id, change)) };
    });

  app.get("/api/v1/jobs/:job_id/events", (context) => {
    calls.push(`GET /jobs/${context.req.param("job_id")}/events`);
    const token = (context.req.header("authorization") ?? "").replace(/^Bearer /, "");
    const job = state.job(context.req.param("job_id"));
    if (!state.sessions.has(token)) return context.json({}, 401);
    if (job === undefined) return context.json({}, 404);
    return streamSSE(context, async (stream) => {
      const queue: Schemas["Job"][] = [structuredClone(named(job))];
      let more = Promise.withResolvers<void>();
      const watcher = (changed: Schemas["Job"]) => {
        if (changed.id !== job.id) return;
        queue.push(structuredClone(named(changed)));
        more.resolve();
      };
      state.jobWatchers.add(watcher);
      stream.onAbort(() => more.resolve());
      for (let version = 1; !stream.aborted; ) {
        const next = queue.shift();
        if (next === undefined) {
          await more.promise;
          more = Promise.withResolvers();
          continue;
        }
        await stream.writeSSE({ event: "job", id: String(version++), data: JSON.stringify(next) });
        if (next.done) break;
      }
      state.jobWatchers.delete(watcher);
    });
  });
}

function registerSshKeys(operation: Operation, state: FakeState): void {
  operation("get", "/ssh-keys", "listSshKeys", ({ query, fail }) => narrowedPage(state.sshKeys, query, fail));
  operation("get", "/ssh-keys/:ssh_key_id", "getSshKey", ({ params, fail }) => {
    const key = state.sshKeys.find(({ id }) => id === params.ssh_key_id);
    return key === undefined ? fail(404, "not_found", "no such key") : { status: 200, body: key };
  });
  operation<Schemas["SshKeyCreate"]>("post", "/ssh-keys", "createSshKey", ({ body, fail }) => {
    if (!/^(ssh-ed25519|ssh-rsa|ecdsa-\S+) \S+/.test(body.public_key))
      return fail(422, "validation_failed", "The request is wrong", {
        errors: [
          {
            field: "public_key",
            code: "invalid_format",
            message: "is not a public key in the one-line OpenSSH form",
            pointer: "/public_key",
          },
        ],
      });
    const key = fakeSshKey(body);
    const same = state.sshKeys.find(
      ({ fingerprint_sha256 }) => fingerprint_sha256 === key.fingerprint_sha256,
    );
    if (same !== undefined)
      return fail(409, "duplicate_key", `This key is here already as ${same.name}`, {
        precondition: {
          name: "ssh_key_new",
          code: "duplicate_key",
          message: `This key is here already as ${same.name}`,
          resource: same.id,
          fix: null,
        },
      });
    state.sshKeys.push(key);
    return { status: 201, body: key };
  });
  operation<Schemas["SshKeyUpdate"]>(
    "patch",
    "/ssh-keys/:ssh_key_id",
    "updateSshKey",
    ({ params, body, fail }) => {
      const key = state.sshKeys.find(({ id }) => id === params.ssh_key_id);
      if (key === undefined) return fail(404, "not_found", "There is no such key");
      return relabelled(key, body, fail, () => ({ status: 200, body: key }));
    },
  );
  operation("delete", "/ssh-keys/:ssh_key_id", "deleteSshKey", ({ params, fail }) => {
    const index = state.sshKeys.findIndex(({ id }) => id === params.ssh_key_id);
    if (index < 0) return fail(404, "not_found", "There is no such key");
    state.sshKeys.splice(index, 1);
    return { status: 204 };
  });
}
