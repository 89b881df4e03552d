import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId, fakeJob, fakeServer } from "./fake-records.ts";
import { registerRegionAdmin } from "./fake-region-admin.ts";
import type { FakeState } from "./fake-state.ts";

/** Capacity for seven of each; imports and locks of existing servers. */
export function registerOperator(operation: Operation, state: FakeState): void {
  registerRegions(operation, state);
  registerRegionAdmin(operation, state);
  registerOrganisations(operation, state);
  registerOperatorsServers(operation, state);
}

function registerRegions(operation: Operation, state: FakeState): void {
  operation("get", "/regions", "listRegions", ({ query }) => page(state.regions, query));
  operation<Schemas["RegionUpdate"]>(
    "patch",
    "/regions/:region",
    "updateRegion",
    ({ params, body, fail }) => {
      const region = state.regions.find(({ slug }) => slug === params.region);
      if (region === undefined) return fail(404, "not_found", "no such region");
      Object.assign(region, body, { status: body.maintenance ? "maintenance" : "ok" });
      return { status: 200, body: region };
    },
  );
  operation("get", "/regions/:region/capacity", "getRegionCapacity", () => ({
    status: 200,
    body: state.capacity,
  }));
  operation("get", "/operator/jobs", "listOperatorJobs", ({ query }) => {
    const statuses = query.getAll("status");
    const [organisation] = state.organisations;
    return page(
      state.jobs
        .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
        .filter(({ region }) => !query.has("region") || region === query.get("region"))
        .map((job): Schemas["OperatorJob"] => ({
          id: job.id,
          kind: job.kind,
          action: job.action,
          status: job.status,
          progress: job.progress,
          region: job.region,
          organisation: { id: organisation?.id ?? "org_1", name: organisation?.name ?? "Acme" },
          resource: job.resource,
          phase: job.phase,
          attempt: job.attempt,
          max_attempts: job.max_attempts,
          agent_name: null,
          error: job.error,
          requested_by: job.requested_by,
          created_at: job.created_at,
          started_at: job.started_at,
          finished_at: job.finished_at,
        })),
      query,
    );
  });
  operation("get", "/operator/stuck-jobs", "listStuckJobs", ({ query }) => {
    const reasons = query.getAll("reason");
    return page(
      state.stuckJobs
        .filter(({ reason }) => reasons.length === 0 || reasons.includes(reason))
        .filter(({ region }) => !query.has("region") || region === query.get("region")),
      query,
    );
  });
  operation("get", "/operator/drift", "listDrift", ({ query }) => {
    const kinds = query.getAll("kind");
    return page(
      state.drift
        .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
        .filter(({ region }) => !query.has("region") || region === query.get("region")),
      query,
    );
  });
  operation<Schemas["CatalogCheck"]>("post", "/catalog/check", "checkCatalog", ({ body }) => {
    const placeable = (body.count ?? 1) <= 7;
    const answer: Schemas["CatalogAnswer"] = {
      region: body.region ?? "ist1",
      placeable,
      known: true,
      fits: 7,
      reason: placeable ? null : "capacity",
    };
    return { status: 200, body: answer };
  });
}

function registerOrganisations(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.organisations.find((each) => each.id === id);
  operation("get", "/organisations", "listOrganisations", ({ query }) => page(state.organisations, query));
  operation<Schemas["OrganisationCreate"]>(
    "post",
    "/organisations",
    "createOrganisation",
    ({ body, fail }) => {
      if (state.organisations.some(({ slug }) => slug === body.slug))
        return fail(409, "name_taken", `an organisation ${body.slug} exists`);
      const now = new Date().toISOString();
      const organisation: Schemas["Organisation"] = {
        id: fakeId("org"),
        slug: body.slug,
        name: body.name,
        status: "active",
        limits: { servers: null },
        generation: 1,
        created_at: now,
        updated_at: now,
      };
      state.organisations.push(organisation);
      return { status: 201, body: organisation };
    },
  );
  operation("get", "/organisations/:id", "getOrganisationById", ({ params, fail }) => {
    const organisation = find(params.id);
    return organisation === undefined
      ? fail(404, "not_found", "no such organisation")
      : { status: 200, body: organisation };
  });
  operation<Schemas["OrganisationUpdate"]>(
    "patch",
    "/organisations/:id",
    "updateOrganisation",
    ({ params, body, fail }) => {
      const organisation = find(params.id);
      if (organisation === undefined) return fail(404, "not_found", "no such organisation");
      Object.assign(organisation, body);
      return { status: 200, body: organisation };
    },
  );
  operation<Schemas["QuotasSet"]>(
    "put",
    "/organisations/:id/quotas",
    "setQuotas",
    ({ params, body, fail }) => {
      if (find(params.id) === undefined) return fail(404, "not_found", "no such organisation");
      for (const [name, limit] of Object.entries(body.limits))
        state.limits.set(name as Schemas["QuotaName"], limit);
      return { status: 200, body: { items: [], next_cursor: null } satisfies Schemas["QuotaList"] };
    },
  );
}

function registerOperatorsServers(operation: Operation, state: FakeState): void {
  operation<Schemas["ServerImport"]>(
    "post",
    "/servers/import",
    "importServer",
    ({ body, query, fail, token }) => {
      const network = state.networks.find(({ subnets }) => subnets.some(({ id }) => id === body.subnet_id));
      const { first, last } = state.regions[0]?.vmid_range ?? { first: 0, last: 0 };
      const errors: Schemas["FieldError"][] = [];
      if (body.vmid < first || body.vmid > last)
        errors.push({
          field: "vmid",
          pointer: "/vmid",
          code: "out_of_range",
          message: `must be one of the region's VM numbers, ${first} to ${last}`,
        });
      if (network === undefined)
        errors.push({
          field: "subnet_id",
          pointer: "/subnet_id",
          code: "not_found",
          message: "no such subnet",
        });
      if (network === undefined || errors.length > 0)
        return fail(422, "validation_failed", "The request is wrong", { errors });
      const blockers: Schemas["Precondition"][] = [];
      if (state.servers.some(({ name }) => name === body.name))
        blockers.push({
          name: "server_name_free",
          code: "name_taken",
          message: `A server named ${body.name} exists in region ${body.region}`,
          resource: null,
          fix: "Choose another name",
        });
      const server = {
        ...fakeServer(
          { name: body.name, image: body.image, package: body.package, labels: body.labels ?? {} },
          network,
          state.servers.length,
        ),
        protection: { delete: true, rebuild: false },
      };
      if (query.get("dry_run") === "true")
        return {
          status: 200,
          body: {
            dry_run: true,
            would: blockers.length > 0 ? null : { server, job_kind: "ServerAdopt", created: null },
            blockers,
          } satisfies Schemas["DryRun"],
        };
      const [blocker] = blockers;
      if (blocker !== undefined) return fail(409, blocker.code, blocker.message, { precondition: blocker });
      const job = fakeJob("ServerAdopt", server.id, state.userOf(token).name);
      server.job_id = job.id;
      state.servers.push(server);
      state.jobs.unshift(job);
      return { status: 202, body: { server, job } };
    },
  );
  operation<Schemas["ServerLockRequest"]>(
    "post",
    "/servers/:server_id/lock",
    "lockServer",
    ({ params, body, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      const { id, name } = state.userOf(token);
      return {
        status: 200,
        body: state.changeServer(server.id, {
          locked: {
            by: { type: "operator", id, name },
            reason: body.reason.trim(),
            at: new Date().toISOString(),
          },
        }),
      };
    },
  );
  operation("post", "/servers/:server_id/reconcile", "reconcileServer", ({ params, fail, token }) => {
    const server = state.server(params.server_id);
    if (server === undefined) return fail(404, "not_found", "There is no such server");
    if (server.drift?.kind === "missing")
      return fail(409, "invalid_state", "The last scan of the region found no VM of the server", {
        precondition: {
          code: "invalid_state",
          name: "server_has_its_vm",
          message: "The last scan of the region found no VM of the server",
          resource: server.id,
          fix: "Delete the server",
        },
      });
    const job = fakeJob("ServerReconcile", server.id, state.userOf(token).name);
    state.jobs.unshift(job);
    return { status: 202, body: { server: state.changeServer(server.id, { job_id: job.id }), job } };
  });
  operation("post", "/servers/:server_id/unlock", "unlockServer", ({ params, fail }) => {
    const server = state.server(params.server_id);
    if (server === undefined) return fail(404, "not_found", "There is no such server");
    return { status: 200, body: state.changeServer(server.id, { locked: null }) };
  });
}
