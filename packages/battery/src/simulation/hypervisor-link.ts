// An agent's calls to the hypervisor: the lab answers what it would answer over HTTPS, and the link loses,
// delays and repeats. What a run of a job sends is watched here: by whom, under which lease, after which
// observation.

import { ApiError } from "@kule/lab/api-error";
import { handlers } from "@kule/lab/handlers";
import { answer, splitTarget } from "@kule/lab/http/answer";
import { type Outgoing, plain, reasonPhrase, refusal } from "@kule/lab/http/respond";
import { type HttpAnswer, type HttpExchange, NoAnswer, type Transport } from "@kule/proxmox/http-exchange";
import { drawCallOutcome, QUIET } from "./fault-plan.ts";
import type { SimulatedAgent } from "./simulated-agent.ts";
import type { Simulation } from "./simulation.ts";

const LONGEST_SLOW_MILLISECONDS = 60_000;
const LATEST_COPY_MILLISECONDS = 30_000;
const SHARE_BEFORE = 0.5;

export function hypervisorLink(simulation: Simulation, agent: SimulatedAgent): Transport {
  return { exchange: (call) => carry(simulation, agent, call), close: () => {} };
}

function carry(simulation: Simulation, agent: SimulatedAgent, call: HttpExchange): Promise<HttpAnswer> {
  const { clock, plan } = simulation;
  const { dice } = agent;
  const isChange = call.method !== "GET";
  const vmid = isChange ? vmidOf(call) : null;
  return new Promise((resolve, reject) => {
    let isSent = false;
    let isOver = false;
    const finish = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      cancelDeadline();
      call.signal?.removeEventListener("abort", abort);
      settle();
    };
    const fail = (cause: unknown) =>
      finish(() => {
        if (vmid !== null && isSent) agent.unanswered.add(vmid);
        reject(new NoAnswer(cause, isSent, false));
      });
    const cancelDeadline = clock.after(call.deadlineMilliseconds, () =>
      agent.reach(() => fail(new Error(`no answer in ${call.deadlineMilliseconds} ms`))),
    );
    const abort = () => fail(call.signal?.reason);
    if (call.signal?.aborted) return abort();
    call.signal?.addEventListener("abort", abort, { once: true });

    const broken = () => agent.reach(() => fail(new Error("the connection broke")));
    const receive = (outgoing: Outgoing) =>
      agent.reach(() => {
        if (isOver) return;
        const { status, body } = outgoing;
        if (vmid !== null && status >= 500) agent.unanswered.add(vmid);
        const read: HttpAnswer = { status, reason: reasonPhrase(outgoing.reason), body: body ?? "" };
        const answered = call.answered?.();
        if (answered === undefined) return finish(() => resolve(read));
        answered.then(
          () => finish(() => resolve(read)),
          (error: unknown) => finish(() => reject(error)),
        );
      });
    const send = () => {
      if (!agent.isAlive || isOver) return;
      isSent = true;
      const run =
        vmid === null ? null : simulation.witness.aboutToChange(agent, vmid, call.method, call.url.pathname);
      if (call.url.pathname.endsWith("/cluster/resources")) agent.unanswered.clear();
      simulation.counts.hypervisorCalls += 1;
      const faults = simulation.hasFaults ? plan.hypervisor : QUIET;
      const fate = simulation.hasFaults ? drawCallOutcome(faults, dice) : "through";
      if (fate !== "through") simulation.counts.hypervisorFaults += 1;
      const latency = () => dice.between(...faults.latency);
      let arrivals = 0;
      const arrive = (reply: (outgoing: Outgoing) => void) => {
        arrivals += 1;
        if (call.method === "DELETE" && vmid !== null && (isOver || arrivals > 1))
          simulation.witness.destroyArrivesLate(vmid);
        if (isChange) {
          simulation.mark(`pve ${agent.name}`, `${call.method} ${call.url.pathname.slice(10)} ${fate}`);
          if (run !== null) {
            const digest = new URLSearchParams(call.body ?? "").get("digest");
            const arrival = { isCopy: arrivals > 1, isAwaited: arrivals === 1 && !isOver, digest };
            simulation.witness.changeArrives(run, call.url.pathname, arrival);
          }
        } else {
          const looked = /\/qemu\/(\d+)\/status\/current$/.exec(call.url.pathname)?.[1];
          const testScanner = looked === undefined || isOver ? undefined : agent.runs.get(Number(looked));
          if (testScanner !== undefined) simulation.witness.looks(testScanner);
          simulation.note(() => `pve ${agent.name} GET ${call.url.pathname.slice(10)} ${fate}`);
        }
        void answer(simulation.region.region, handlers, {
          method: call.method,
          target: splitTarget(call.url.pathname + call.url.search),
          headers: call.headers,
          headerCount: Object.keys(call.headers).length,
          body: async () => call.body ?? "",
        }).then(reply, (error: unknown) =>
          simulation.violation(`the lab broke: ${error instanceof Error ? error.stack : error}`),
        );
      };
      const answered = (outgoing: Outgoing) => clock.after(latency(), () => receive(outgoing));
      const nobody = () => {};
      const wayThere = fate === "slow" ? dice.between(0, LONGEST_SLOW_MILLISECONDS) : latency();
      clock.after(wayThere, () => {
        switch (fate) {
          case "lostBefore":
            // Refused before anything was sent, or broken on the way: the client may go to another endpoint only once.
            if (dice.chance(SHARE_BEFORE)) {
              isSent = false;
              if (vmid !== null && !isOver) agent.refused.add(vmid);
            }
            return broken();
          case "silentBefore":
            return;
          case "lostAfter":
            return arrive(() => clock.after(latency(), broken));
          case "silentAfter":
            return arrive(nobody);
          case "trouble": {
            const trouble = troubleOf(dice.pick([500, 595, 596, 502]));
            if (dice.chance(SHARE_BEFORE)) return answered(trouble);
            // A plain 500 means that nothing was changed, so it must not be sent after the effect.
            return arrive(() => answered(trouble.status === 500 ? troubleOf(596) : trouble));
          }
          case "twice":
            clock.after(dice.between(0, LATEST_COPY_MILLISECONDS), () => arrive(nobody));
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

function troubleOf(status: number): Outgoing {
  return status === 500
    ? refusal(new ApiError(500, "unable to open file - Resource temporarily unavailable\n"), "9.2")
    : plain(status, status === 595 ? "No route to host" : "Connection timed out");
}

/** The VM that a changing call is about; null for one about something else, such as a pool. */
function vmidOf({ url, body }: HttpExchange): number | null {
  const newid = /\/clone$/.test(url.pathname) ? new URLSearchParams(body ?? "").get("newid") : null;
  const found = newid ?? /\/qemu\/(\d+)/.exec(url.pathname)?.[1] ?? /vm-(\d+)-/.exec(url.pathname)?.[1];
  return found === undefined ? null : Number(found);
}
