import { badParameters, permissionDenied } from "../api-error.ts";
import { type Call, flag, type Handlers, number, required, text } from "../call.ts";
import type { TaskDocument } from "../documents.ts";
import { splitList } from "../schema/property-schema.ts";
import { parseUpid } from "../tasks/upid.ts";
import { taskState } from "../tasks/worker.ts";

/** The user part and, for a token, its name. */
function who(user: string): { user: string; tokenid?: string } {
  const [name = "", token] = user.split("!");
  return token === undefined ? { user: name } : { user: name, tokenid: token };
}

function taskOf(call: Call): TaskDocument {
  const text = required(call, "upid");
  const parsed = parseUpid(text);
  if (parsed === undefined) throw badParameters({ upid: `unable to parse worker upid '${text}'` });
  const task = call.region.store.get("task", text);
  // A UPID is known on its own node only; the log file is what a task is.
  if (task === undefined || task.logMissing || task.node !== call.node)
    throw badParameters({ upid: "no such task" });
  return task;
}

function requireOwner(call: Call, task: TaskDocument): void {
  // A token sees what it started itself; its owner sees what all his tokens started.
  if (task.user === call.authUser || task.user.startsWith(`${call.authUser}!`)) return;
  if (!call.region.permissions.has(call.authUser, `/nodes/${call.node}`, "Sys.Audit")) {
    throw permissionDenied(`/nodes/${call.node}, Sys.Audit`);
  }
}

function status(call: Call): unknown {
  const task = taskOf(call);
  requireOwner(call, task);
  const { upid, node, pid, pstart, starttime, type, id } = task;
  return { upid, node, pid, pstart, starttime, type, id, ...who(task.user), ...taskState(call.region, task) };
}

function log(call: Call): unknown {
  const task = taskOf(call);
  requireOwner(call, task);
  const lines = call.region.live.get(task.upid)?.log() ?? task.log;
  const start = number(call, "start") ?? 0;
  const limit = number(call, "limit") ?? 50;
  call.total = lines.length;
  const page = lines
    .slice(start, limit === 0 ? undefined : start + limit)
    .map((t, index) => ({ n: start + index + 1, t }));
  return page.length === 0 ? [{ n: 1, t: "no content" }] : page;
}

function kill(call: Call): null {
  const task = taskOf(call);
  const own = task.user === call.authUser || task.user.startsWith(`${call.authUser}!`);
  if (!own) call.region.permissions.require(call.authUser, `/nodes/${call.node}`, "Sys.Modify");
  call.region.live.get(task.upid)?.kill();
  return null;
}

function list(call: Call): unknown[] {
  const { region, authUser, node } = call;
  const source = text(call, "source") ?? "archive";
  const vmid = text(call, "vmid");
  const type = text(call, "typefilter");
  const since = number(call, "since") ?? 0;
  const until = number(call, "until") ?? Number.POSITIVE_INFINITY;
  const user = text(call, "userfilter");
  const statuses = splitList(text(call, "statusfilter") ?? "").map((s) => s.toLowerCase());
  const audit = region.permissions.has(authUser, `/nodes/${node}`, "Sys.Audit");
  const classOf = (exit: string): string =>
    exit === "OK"
      ? "ok"
      : exit.startsWith("WARNINGS")
        ? "warning"
        : exit.startsWith("unexpected")
          ? "unknown"
          : "error";
  const rows = region.store
    .all("task")
    .filter((task) => task.node === node && (audit || task.user === authUser))
    .map((task) => ({ task, state: taskState(region, task) }))
    .filter(({ task, state }) => {
      const running = state.status === "running";
      if (source === "active" && !running) return false;
      if (source === "archive" && running) return false;
      if (vmid !== undefined && task.id !== vmid) return false;
      if (type !== undefined && task.type !== type) return false;
      if (user !== undefined && !task.user.includes(user)) return false;
      if (flag(call, "errors") && (running || state.exitstatus === "OK")) return false;
      if (statuses.length > 0 && (running || !statuses.includes(classOf(state.exitstatus)))) return false;
      return task.starttime >= since && task.starttime <= until;
    })
    .reverse();
  call.total = rows.length;
  const start = number(call, "start") ?? 0;
  return rows.slice(start, start + (number(call, "limit") ?? 50)).map(({ task, state }) => {
    const { upid, pid, pstart, starttime, endtime, id } = task;
    const common = { upid, node, pid, pstart, starttime, type: task.type, id, ...who(task.user) };
    if (state.status === "running") return { ...common, status: "RUNNING" };
    return { ...common, endtime: endtime ?? starttime, status: state.exitstatus };
  });
}

export const taskHandlers: Handlers = {
  "GET /nodes/{node}/tasks": list,
  "GET /nodes/{node}/tasks/{upid}": () => ["log", "status"].map((name) => ({ name })),
  "GET /nodes/{node}/tasks/{upid}/status": status,
  "GET /nodes/{node}/tasks/{upid}/log": log,
  "DELETE /nodes/{node}/tasks/{upid}": kill,
};
