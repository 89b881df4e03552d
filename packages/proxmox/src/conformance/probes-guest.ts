import type { CallName } from "../client.ts";
import { ProxmoxAgentUnavailable, ProxmoxError } from "../errors.ts";
import { asRecord, resultOf } from "../guest-answer.ts";
import { readBoolean, readNumber } from "../lenient.ts";
import type { ProbeSite } from "./conformance.ts";
import type { ProbeRun } from "./probe-run.ts";

const AGENT_POLL_MILLISECONDS = 1_000;
const EXEC_POLLS = 30;
const NOT_THERE = ["ProxmoxNotFound", "ProxmoxForbidden"] as const;
const VM = "/nodes/{node}/qemu/{vmid}";
const PASSWORD = { username: "kule", password: "$6$rounds=5000$abcdefgh$0123456789abcdef", crypted: true };

/** Power, the guest's agent and its consoles; the VM is gone in the end. */
export async function probeGuest(run: ProbeRun, site: ProbeSite): Promise<void> {
  const { node, vmid, absent } = site;
  const at = { node, vmid };
  const off = "a guest that is off";
  const NO_AGENT = ["ProxmoxAgentUnavailable"] as const;
  await run.refuses(`GET ${VM}/agent/network-get-interfaces`, off, at, NO_AGENT);
  await run.refuses(`GET ${VM}/agent/get-osinfo`, off, at, NO_AGENT);
  await run.refuses(`GET ${VM}/agent/get-host-name`, off, at, NO_AGENT);
  await run.refuses(`POST ${VM}/agent/exec`, off, { ...at, command: ["true"] }, NO_AGENT);
  await run.refuses(`GET ${VM}/agent/exec-status`, off, { ...at, pid: 1 }, NO_AGENT);
  await run.refuses(`POST ${VM}/agent/set-user-password`, off, { ...at, ...PASSWORD }, NO_AGENT);
  await run.refuses(
    `POST ${VM}/status/shutdown`,
    "a number without a VM",
    { node, vmid: absent, timeout: 10, forceStop: true },
    NOT_THERE,
  );
  await run.refuses(`POST ${VM}/status/reset`, off, at, ["ProxmoxAlready"]);

  await run.answers(`POST ${VM}/status/start`, off, at);
  await run.answers(`GET ${VM}/status/current`, "of a guest that runs", at, ({ status, pid }) =>
    status === "running" && readNumber(pid) !== null ? null : `says ${status}, process ${pid}`,
  );
  await run.refuses(`POST ${VM}/status/start`, "a guest that runs", at, ["ProxmoxAlready"]);
  await run.refuses(`DELETE ${VM}`, "a guest that runs", { ...at, purge: true }, ["ProxmoxRunning"]);
  await probeConsoles(run, site);
  await probeAgent(run, site);
  await run.answers(`POST ${VM}/status/reset`, "a guest that runs", at);
  await run.answers(`POST ${VM}/status/shutdown`, "a guest that runs", {
    ...at,
    timeout: 60,
    forceStop: true,
  });
  await run.answers(`POST ${VM}/status/start`, "once more", at);
  await run.answers(`POST ${VM}/status/stop`, "a guest that runs", { ...at, "overrule-shutdown": true });
  await run.refuses(
    `POST ${VM}/status/stop`,
    "a number without a VM",
    { node, vmid: absent, "overrule-shutdown": true },
    NOT_THERE,
  );
  await run.answers(`GET ${VM}/status/current`, "of a guest that is off", at, ({ status }) =>
    status === "stopped" ? null : `says ${status}`,
  );
  await run.answers(`DELETE ${VM}`, "a VM with its disks", {
    ...at,
    purge: true,
    "destroy-unreferenced-disks": true,
  });
  await run.refuses(`DELETE ${VM}`, "a number without a VM", { node, vmid: absent, purge: true }, NOT_THERE);
  await run.answers("GET /cluster/nextid", "the number of a VM that is gone", { vmid });
  await run.answers("DELETE /pools", "one that is empty", { poolid: site.pool });
  await run.refuses("DELETE /pools", "one that is not there", { poolid: site.pool }, ["ProxmoxFailure"]);
}

async function probeConsoles(run: ProbeRun, { node, vmid, absent }: ProbeSite): Promise<void> {
  const at = { node, vmid };
  const nowhere = { node, vmid: absent };
  let endpoint: URL | null = null;
  const screen = { websocket: true, "generate-password": true };
  type Proxy = { readonly port?: unknown; readonly ticket?: unknown; readonly user?: unknown };
  const isProxy = (answer: unknown): string | null => {
    const { port, ticket, user } = answer as Proxy;
    return readNumber(port as string) !== null && typeof ticket === "string" && typeof user === "string"
      ? null
      : "lacks port, ticket or user";
  };
  await run.answers(
    `POST ${VM}/termproxy`,
    "the serial line of a guest",
    { ...at, serial: "serial0" },
    isProxy,
  );
  await run.refuses(
    `POST ${VM}/termproxy`,
    "of a number without a VM",
    { ...nowhere, serial: "serial0" },
    NOT_THERE,
  );
  await run.refuses(`POST ${VM}/vncproxy`, "of a number without a VM", { ...nowhere, ...screen }, NOT_THERE);
  const proxy = (await run.answers(
    `POST ${VM}/vncproxy`,
    "the screen of a guest",
    { ...at, ...screen },
    isProxy,
    (url) => {
      endpoint = url;
    },
  )) as Proxy | null;
  const socket = `GET ${VM}/vncwebsocket` as const;
  if (proxy === null || endpoint === null)
    return run.leave(socket, "the screen of a guest", "there is no ticket for it");
  const path = `/nodes/${encodeURIComponent(node)}/qemu/${vmid}/vncwebsocket`;
  const query = { port: String(proxy.port), vncticket: String(proxy.ticket) };
  const url: URL = endpoint;
  const open = async (ticket: string): Promise<void> => {
    const opened = await run.client.webSocket(url, path, { ...query, vncticket: ticket }, run.signal);
    opened.terminate();
  };
  await run.fails(socket, "a ticket that is wrong", () => open("PVEVNC:00000000::wrong"), [
    "ProxmoxNodeUnreachable",
  ]);
  await run.succeeds(socket, "the screen of a guest", () => open(query.vncticket));
}

async function probeAgent(run: ProbeRun, site: ProbeSite): Promise<void> {
  const at = { node: site.node, vmid: site.vmid };
  const calls = {
    interfaces: `GET ${VM}/agent/network-get-interfaces`,
    system: `GET ${VM}/agent/get-osinfo`,
    name: `GET ${VM}/agent/get-host-name`,
    exec: `POST ${VM}/agent/exec`,
    status: `GET ${VM}/agent/exec-status`,
    password: `POST ${VM}/agent/set-user-password`,
  } as const satisfies Record<string, CallName>;
  const runs = "a guest that runs";
  if (!(await agentAnswers(run, site))) {
    const why = `the guest's agent has not answered within ${site.agentSeconds} s: does the template have one?`;
    for (const call of Object.values(calls)) run.leave(call, runs, why);
    return;
  }
  await run.answers(calls.interfaces, runs, at, (answer) =>
    Array.isArray(resultOf(answer)) ? null : "answers no list of interfaces",
  );
  await run.answers(calls.system, runs, at, (answer) =>
    typeof asRecord(resultOf(answer)).name === "string" ? null : "does not name the system",
  );
  await run.answers(calls.name, runs, at, (answer) =>
    typeof asRecord(resultOf(answer))["host-name"] === "string" ? null : "does not name the host",
  );
  const command = { command: ["cat"], "input-data": "a=b;c&d+e" };
  const begun = await run.answers(calls.exec, "a program with its input", { ...at, ...command }, ({ pid }) =>
    readNumber(pid) === null ? `answers the process ${pid}` : null,
  );
  const pid = readNumber(begun?.pid);
  if (pid === null) run.leave(calls.status, runs, "no program was begun");
  else
    await run.succeeds(
      calls.status,
      "a program that has ended",
      () => untilEnded(run, { ...at, pid }),
      (answer) =>
        readNumber(answer.exitcode) === 0 && answer["out-data"] === command["input-data"]
          ? null
          : `answers ${JSON.stringify(answer).slice(0, 200)}`,
    );
  await run.answers(calls.password, "a hash of a user's password", { ...at, ...PASSWORD });
}

/** The end of a program is reported once: a second query after that is refused. */
async function untilEnded(
  run: ProbeRun,
  process: { node: string; vmid: number; pid: number },
): Promise<unknown> {
  for (let poll = 1; ; poll++) {
    const answer = await run.client.call(`GET ${VM}/agent/exec-status`, process, { signal: run.signal });
    if (readBoolean(answer.exited) || poll >= EXEC_POLLS) return answer;
    await run.runtime.pause(AGENT_POLL_MILLISECONDS, run.signal);
  }
}

async function agentAnswers(run: ProbeRun, { node, vmid, agentSeconds }: ProbeSite): Promise<boolean> {
  const until = run.runtime.now() + agentSeconds * 1000;
  for (;;) {
    try {
      await run.client.call(`GET ${VM}/agent/get-host-name`, { node, vmid }, { signal: run.signal });
      return true;
    } catch (error) {
      // Any other error is reported by the probes.
      if (error instanceof ProxmoxError && !(error instanceof ProxmoxAgentUnavailable)) return true;
      if (!(error instanceof ProxmoxError)) throw error;
      if (run.runtime.now() >= until) return false;
      await run.runtime.pause(AGENT_POLL_MILLISECONDS, run.signal);
    }
  }
}
