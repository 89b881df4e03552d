// An agent's calls to the control plane: the model answers them, and the way there and back loses, delays and repeats.

import type { ApiCalls, CallResult } from "@kule/agent/api-calls";
import type { Schemas, ServerPayload } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";
import { drawCallOutcome, QUIET } from "./fault-plan.ts";
import type { SimulatedAgent } from "./simulated-agent.ts";
import type { Simulation } from "./simulation.ts";

/** The API's answer to a call: a status and a body. */
export type ApiReply = { readonly status: number; readonly body: unknown };

/** Handles a request that has arrived; the returned function reports that the caller has disconnected. */
type Handle = (reply: (answer: ApiReply) => void) => (() => void) | undefined;

const LONGEST_SLOW_MILLISECONDS = 60_000;
const LATEST_COPY_MILLISECONDS = 30_000;
/** How often the API notices that a caller has hung up. */
const HANG_UP_NOTICED = 0.8;
const SHARE_BEFORE = 0.5;

export function apiLink(simulation: Simulation, agent: SimulatedAgent): ApiCalls {
  const call = <Data>(
    name: string,
    signal: AbortSignal,
    handle: Handle,
    read: (reply: ApiReply) => void = () => {},
  ) => carry<Data>(simulation, agent, name, signal, handle, read);
  return {
    me: (signal) => call<Schemas["Me"]>("me", signal, (reply) => void reply(problem(404, "not_found"))),
    health: (_, signal) =>
      call<Schemas["HealthAck"]>("health", signal, (reply) => void reply(problem(404, "not_found"))),
    claimConsole: (_, signal) =>
      call<Schemas["ClaimedConsole"]>(
        "claim-console",
        signal,
        (reply) => void reply(problem(404, "not_found")),
      ),
    inventory: (_, signal) =>
      call<Schemas["InventoryAck"]>("inventory", signal, (reply) => void reply(problem(404, "not_found"))),
    loadBalancers: (_, signal) =>
      call<Schemas["LoadBalancerReportAck"]>(
        "load-balancers",
        signal,
        (reply) => void reply(problem(404, "not_found")),
      ),
    claim: (body, signal) =>
      call<Schemas["ClaimedJob"] | undefined>(
        `claim ${body.claim_id}`,
        signal,
        (reply) => {
          const checked = validateBody("claimJob", body);
          if (!checked.ok) return void reply(invalid(simulation, "a claim", checked.errors));
          return simulation.api.claim(agent.name, body, reply);
        },
        ({ status, body: answer }) => {
          if (status !== 200) return;
          const { job } = answer as Schemas["ClaimedJob"];
          const { vmid } = job.payload as ServerPayload;
          const run = agent.runs.get(vmid);
          if (run === undefined || run.jobId !== job.id || run.epoch < job.epoch)
            agent.runs.set(vmid, {
              jobId: job.id,
              epoch: job.epoch,
              vmid,
              isTold: false,
            });
        },
      ),
    report: (jobId, body, signal) =>
      call<Schemas["StepAck"]>(
        `report ${jobId.slice(-3)} ${body.epoch}/${body.seq} ${body.step?.name ?? ""} ${body.outcome?.status ?? ""}`,
        signal,
        (reply) => {
          const checked = validateBody("reportStep", body);
          if (!checked.ok) return void reply(invalid(simulation, "a report", checked.errors));
          reply(simulation.api.report(agent.name, jobId, body));
          return undefined;
        },
        ({ status }) => {
          for (const run of agent.runs.values()) {
            if (run.jobId !== jobId || run.epoch !== body.epoch) continue;
            if (status === 409) run.isTold = true;
          }
        },
      ),
  };
}

function carry<Data>(
  simulation: Simulation,
  agent: SimulatedAgent,
  name: string,
  signal: AbortSignal,
  handle: Handle,
  read: (reply: ApiReply) => void,
): Promise<CallResult<Data>> {
  const { clock, plan } = simulation;
  const { dice } = agent;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let isOver = false;
    let hangUp: (() => void) | undefined;
    const finish = (settle: () => void) =>
      agent.reach(() => {
        if (isOver) return;
        isOver = true;
        signal.removeEventListener("abort", abort);
        settle();
      });
    const abort = () => {
      isOver = true;
      if (hangUp !== undefined && dice.chance(HANG_UP_NOTICED)) hangUp();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    const broken = (why: string) => {
      simulation.mark("api lost", name);
      finish(() => reject(new TypeError(why)));
    };
    const send = () => {
      if (!agent.isAlive || isOver) return;
      simulation.counts.apiCalls += 1;
      const faults = simulation.hasFaults ? plan.api : QUIET;
      const fate = simulation.hasFaults ? drawCallOutcome(faults, dice) : "through";
      if (fate !== "through") simulation.counts.apiFaults += 1;
      const latency = () => dice.between(...faults.latency);
      const answered = (reply: ApiReply) =>
        clock.after(latency(), () => {
          if (simulation.isApiAway) return broken("the connection broke");
          finish(() => {
            read(reply);
            resolve(resultOf<Data>(reply));
          });
        });
      const arrive = (answer: (reply: ApiReply) => void) => {
        if (simulation.isApiAway) return broken("connection refused");
        simulation.mark(`api ${agent.name}`, name);
        hangUp = handle(answer);
      };
      const nobody = () => {};
      const wayThere = fate === "slow" ? dice.between(0, LONGEST_SLOW_MILLISECONDS) : latency();
      clock.after(wayThere, () => {
        switch (fate) {
          case "lostBefore":
            return broken("the connection broke before");
          case "silentBefore":
            return;
          case "lostAfter":
            arrive(() => clock.after(latency(), () => broken("the connection broke after")));
            return;
          case "silentAfter":
            return arrive(nobody);
          case "trouble":
            if (dice.chance(SHARE_BEFORE)) return answered(problem(503, "unavailable"));
            return arrive(() => answered(problem(503, "unavailable")));
          case "twice":
            clock.after(dice.between(0, LATEST_COPY_MILLISECONDS), () => {
              if (!simulation.isApiAway) handle(nobody);
            });
            return arrive(answered);
          default:
            return arrive(answered);
        }
      });
    };
    const awake = agent.whenAwake();
    if (awake === undefined) send();
    else void awake.then(send);
  });
}

function resultOf<Data>({ status, body }: ApiReply): CallResult<Data> {
  const response = { ok: status < 300, status, headers: { get: () => null } };
  return response.ok ? { data: body as Data, response } : { error: body, response };
}

export function problem(status: number, code: string): ApiReply {
  return { status, body: { status, code, title: code, detail: code, request_id: "req_simulation" } };
}

/** An agent must not send what the contract refuses, whatever the effect is. */
function invalid(simulation: Simulation, what: string, errors: unknown): ApiReply {
  simulation.violation(`${what} does not fit the contract: ${JSON.stringify(errors).slice(0, 300)}`);
  return problem(422, "validation_failed");
}
