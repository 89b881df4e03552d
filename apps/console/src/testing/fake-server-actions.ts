import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { relabelled } from "./fake-labels.ts";
import type { Answer, Operation } from "./fake-operation.ts";
import { fakeCatalog, fakeJob } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type Server = Schemas["Server"];
type Fail = (
  status: number,
  code: Schemas["ErrorCode"],
  detail: string,
  more?: Partial<Schemas["Problem"]>,
) => Answer;

/** The organisation's remaining quota of vCPUs. */
const vcpuLeft = 6;

/** Power, size, name, labels, password and a new disk. */
export function registerServerActions(operation: Operation, state: FakeState): void {
  const queue = (server: Server, kind: Schemas["JobKind"], token: string, change: Partial<Server>) => {
    const job = fakeJob(kind, server.id, state.userOf(token).name);
    state.jobs.unshift(job);
    return { server: state.changeServer(server.id, { ...change, job_id: job.id }), job };
  };

  operation<Schemas["ServerUpdate"]>(
    "patch",
    "/servers/:server_id",
    "updateServer",
    ({ params, body, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      const { name } = body;
      if (name !== undefined && name !== server.name) {
        if (state.servers.some((other) => other.name === name))
          return conflict(fail, "name_taken", `A server named ${name} exists in region ${server.region}`);
        return { status: 202, body: queue(server, "ServerUpdate", token, { name, hostname: name }) };
      }
      const protection = { ...server.protection, ...body.protection };
      const { labels = {} } = body;
      return relabelled(server, { labels }, fail, () => ({
        status: 200,
        body: state.changeServer(server.id, { protection }),
      }));
    },
  );

  operation<RequestBody<"powerServer">>(
    "post",
    "/servers/:server_id/power",
    "powerServer",
    ({ params, body, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      const decision = server.actions[body.action];
      if (!decision.allowed) return conflict(fail, decision.code ?? "invalid_state", decision.reason ?? "");
      const status = { start: "starting", shutdown: "stopping", stop: "stopping" } as const;
      const through = body.action === "reboot" || body.action === "reset" ? "rebooting" : status[body.action];
      const answer = queue(server, "ServerPower", token, { status: through });
      answer.job.action = body.action;
      return { status: 202, body: answer };
    },
  );

  operation<RequestBody<"resizeServer">>(
    "post",
    "/servers/:server_id/resize",
    "resizeServer",
    ({ params, body, query, fail, token }) => {
      const server = state.server(params.server_id);
      const wanted = fakeCatalog.packages.find(({ slug }) => slug === body.package);
      if (server === undefined || wanted === undefined)
        return fail(404, "not_found", "There is no such server");
      const asked = wanted.vcpu - server.package.vcpu;
      const message = `The organisation has 6 of at most 12 vCPUs; ${asked} more are asked for`;
      const blocker: Schemas["Precondition"] = {
        name: "quota_vcpu",
        code: "quota_exceeded",
        message,
        resource: state.userOf(token).organisation?.id ?? null,
        fix: null,
        quota: { name: "vcpu", limit: 12, used: 12 - vcpuLeft, asked },
      };
      const isFull = asked > vcpuLeft;
      if (query.get("dry_run") === "true") {
        const would = isFull ? null : { server, job_kind: "ServerResize" as const, created: null };
        return { status: 200, body: { dry_run: true, would, blockers: isFull ? [blocker] : [] } };
      }
      if (isFull) return fail(409, "quota_exceeded", message, { precondition: blocker });
      const { slug, vcpu, memory_mb, disk_gb } = wanted;
      const disk = body.grow_disk === false ? server.disk_gb : Math.max(server.disk_gb, disk_gb);
      const change = {
        status: "resizing" as const,
        package: { slug, vcpu, memory_mb, disk_gb },
        disk_gb: disk,
      };
      return { status: 202, body: queue(server, "ServerResize", token, change) };
    },
  );

  operation<RequestBody<"rebuildServer">>(
    "post",
    "/servers/:server_id/rebuild",
    "rebuildServer",
    ({ params, body, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      if (body.confirm_name !== server.name)
        return fail(422, "validation_failed", "The request is wrong", {
          errors: [
            {
              field: "confirm_name",
              code: "not_one_of",
              message: "is not the server's name",
              pointer: "/confirm_name",
            },
          ],
        });
      const { allowed, code, reason } = server.actions.rebuild;
      if (!allowed) return conflict(fail, code ?? "invalid_state", reason ?? "");
      const answer = queue(server, "ServerRebuild", token, { status: "rebuilding" });
      return { status: 202, body: { ...answer, console_password: "Haliç-5d2m-Kule-18qa" } };
    },
  );

  operation<RequestBody<"resetServerPassword">>(
    "post",
    "/servers/:server_id/password-reset",
    "resetServerPassword",
    ({ params, body, fail, token }) => {
      const server = state.server(params.server_id);
      if (server === undefined) return fail(404, "not_found", "There is no such server");
      if (body.when === "next_boot" && server.image.os_family === "windows")
        return fail(422, "validation_failed", "The request is wrong", {
          errors: [{ field: "when", code: "not_one_of", message: "must be now", pointer: "/when" }],
        });
      if (body.when !== "next_boot" && server.status !== "running")
        return conflict(fail, "guest_agent_unavailable", "The server is not running");
      const answer = queue(server, "ServerPasswordReset", token, {});
      const { username = "ubuntu" } = body;
      return { status: 202, body: { ...answer, username, password: "Boğaz-8t4w-Kule-33rd" } };
    },
  );
}

function conflict(fail: Fail, code: Schemas["ErrorCode"], message: string): Answer {
  const name = code === "guest_agent_unavailable" ? "guest_agent_answers" : "server_in_right_state";
  const precondition: Schemas["Precondition"] = { name, code, message, resource: null, fix: null };
  return fail(409, code, message, { precondition });
}
