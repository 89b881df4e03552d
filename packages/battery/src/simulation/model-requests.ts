// The requests of people to the reference model, as the API answers them.

import { absent, type Expected } from "../reference-model/answers.ts";
import { applyRule, expectFilter, tellServers } from "../reference-model/firewalls.ts";
import { applyCancelJob, applyRetry, expectCancelJob, expectRetry } from "../reference-model/job-requests.ts";
import type { ModelState } from "../reference-model/model-state.ts";
import { applyAttach, applyDetach, expectAttach, expectDetach } from "../reference-model/public-ips.ts";
import type { ServerAction } from "../reference-model/server-actions.ts";
import {
  applyAdopt,
  applyCancelDeletion,
  applyCreate,
  applyDelete,
  applyPasswordReset,
  applyPower,
  applyPurge,
  applyRebuild,
  applyResize,
  applyUpdate,
  type Changes,
  expectAction,
  expectAdopt,
  expectCancelDeletion,
  expectPower,
  expectResize,
  expectUpdate,
  type NewServer,
  type PowerRequest,
  passwordAction,
  type ResizeRequest,
} from "../reference-model/server-requests.ts";
import type { ModelIp, ModelJob, ModelServer } from "../reference-model/types.ts";
import type { ControlPlaneModel, ModelAnswer } from "./control-plane.ts";

/** The only organisation. */
const SIDE = 0;

export type ServerAnswer = ModelAnswer<{ readonly server: ModelServer; readonly job: ModelJob | null }>;
export type JobAnswer = ModelAnswer<{ readonly job: ModelJob }>;
export type IpAnswer = ModelAnswer<{
  readonly ip: ModelIp;
  readonly server: ModelServer;
  readonly job: ModelJob;
}>;
/** How many servers get a job. */
export type FirewallAnswer = ModelAnswer<{ readonly jobs: readonly ModelJob[] }>;

/** A request for a server. */
export type ServerRequest =
  | ({ readonly to: "power" } & Required<PowerRequest>)
  | ({ readonly to: "resize" } & ResizeRequest)
  | { readonly to: "rebuild"; readonly image: string }
  | { readonly to: "password"; readonly when: "now" | "next_boot" }
  | ({ readonly to: "update" } & Changes);

const refusal = ({ status, code }: Expected) => ({
  status,
  code: code ?? (status === 404 ? "not_found" : "validation_failed"),
});

/** Does what is accepted, and lets the agents know. */
function answer<Body extends { readonly job: ModelJob | null }>(
  model: ControlPlaneModel,
  expected: Expected,
  act: (state: ModelState) => Body,
): ModelAnswer<Body> {
  if (expected.status >= 300) return refusal(expected);
  const body = act(model.state);
  // One is queued, or was and has made room for others.
  if (body.job?.status === "queued" || body.job?.status === "cancelled") model.onNews();
  return { status: expected.status, body };
}

function ofServer(
  model: ControlPlaneModel,
  server: ModelServer | undefined,
  expect: (server: ModelServer, state: ModelState) => Expected,
  act: (state: ModelState, server: ModelServer) => ModelJob | null,
): ServerAnswer {
  if (server === undefined) return refusal(absent);
  return answer(model, expect(server, model.state), (state) => ({ job: act(state, server), server }));
}

function newServer({ state, subnet }: ControlPlaneModel, name: string, starts: boolean): NewServer {
  if (subnet.given === subnet.capacity)
    throw new Error("the model has no room for another server: give it more addresses");
  const id = `srv_${String(state.servers.length + 1).padStart(26, "0")}`;
  return { id, side: SIDE, subnet, name, package: "s", image: "ubuntu-24.04", keys: [], starts };
}

export function createServer(model: ControlPlaneModel, starts = true): ServerAnswer {
  if (model.state.vmidsLeft === 0)
    throw new Error("the model has no room for another server: give it a wider range");
  const wanted = newServer(model, `server-${model.state.servers.length + 1}`, starts);
  return made(model, { status: 202 }, (state) => applyCreate(state, wanted));
}

/** Adopts a VM that was created manually under one of the region's numbers. */
export function adoptServer(model: ControlPlaneModel, vmid: number, name: string): ServerAnswer {
  return made(model, expectAdopt(model.state, SIDE, vmid, name), (state) =>
    applyAdopt(state, newServer(model, name, true), vmid),
  );
}

function made(
  model: ControlPlaneModel,
  expected: Expected,
  act: (state: ModelState) => ModelJob,
): ServerAnswer {
  const written = (state: ModelState) => {
    const job = act(state);
    return { job, server: job.server };
  };
  return answer(model, expected, written);
}

export function deleteServer(model: ControlPlaneModel, server: ModelServer | undefined): ServerAnswer {
  return ofServer(model, server, (it) => expectAction("delete", it, SIDE), applyDelete);
}

/** Destroys it at once, out of the buffer or without one. */
export function purgeServer(model: ControlPlaneModel, server: ModelServer | undefined): ServerAnswer {
  return ofServer(model, server, (it) => expectAction("purge", it, SIDE), applyPurge);
}

export function cancelDeletion(model: ControlPlaneModel, server: ModelServer | undefined): ServerAnswer {
  const expect = (it: ModelServer, state: ModelState) => expectCancelDeletion(state, it, SIDE);
  return ofServer(model, server, expect, applyCancelDeletion);
}

export function askOfServer(
  model: ControlPlaneModel,
  server: ModelServer | undefined,
  wish: ServerRequest,
): ServerAnswer {
  const may = (action: ServerAction) => (it: ModelServer) => expectAction(action, it, SIDE);
  switch (wish.to) {
    case "power": {
      const { to, ...order } = wish;
      return ofServer(
        model,
        server,
        (it) => expectPower(order, it, SIDE),
        (state, it) => applyPower(state, it, order),
      );
    }
    case "resize":
      return ofServer(
        model,
        server,
        (it, state) => expectResize(state, it, SIDE, wish),
        (state, it) => applyResize(state, it, wish),
      );
    case "rebuild":
      return ofServer(model, server, may("rebuild"), (state, it) =>
        applyRebuild(state, it, { image: wish.image, keys: it.keys }),
      );
    case "password":
      return ofServer(model, server, may(passwordAction(wish.when)), (state, it) =>
        applyPasswordReset(state, it, wish.when),
      );
    case "update":
      return ofServer(
        model,
        server,
        (it, state) => expectUpdate(state, it, SIDE, wish),
        (state, it) => applyUpdate(state, it, wish),
      );
  }
}

export function cancelJob(model: ControlPlaneModel, job: ModelJob | undefined): JobAnswer {
  return ofJob(model, job, expectCancelJob, applyCancelJob);
}

export function retryJob(model: ControlPlaneModel, job: ModelJob | undefined): JobAnswer {
  return ofJob(model, job, (it) => expectRetry(model.state, it, SIDE), applyRetry);
}

function ofJob(
  model: ControlPlaneModel,
  job: ModelJob | undefined,
  expect: (job: ModelJob, side: typeof SIDE) => Expected,
  act: (state: ModelState, job: ModelJob) => void,
): JobAnswer {
  if (job === undefined) return refusal(absent);
  return answer(model, expect(job, SIDE), (state) => {
    act(state, job);
    return { job };
  });
}

/** Attaches the address to the server; with force it is moved there. */
export function attachPublicIp(
  model: ControlPlaneModel,
  number: number,
  target: ModelServer | undefined,
  force: boolean,
): IpAnswer {
  const ip = model.state.ips[number - 1];
  if (ip === undefined) return refusal(absent);
  if (target === undefined) return refusal({ status: 422 });
  const attached = (state: ModelState) => ({ ip, server: target, job: applyAttach(state, ip, target).job });
  return answer(model, expectAttach(model.state, ip, SIDE, target, force), attached);
}

export function detachPublicIp(model: ControlPlaneModel, number: number): IpAnswer {
  const ip = model.state.ips[number - 1];
  if (ip === undefined) return refusal(absent);
  const detached = (state: ModelState) => {
    const job = applyDetach(state, ip);
    return { ip, server: job.server, job };
  };
  return answer(model, expectDetach(ip, SIDE), detached);
}

export function attachFirewall(
  model: ControlPlaneModel,
  number: number,
  server: ModelServer | undefined,
): FirewallAnswer {
  const firewall = model.state.firewalls[number - 1];
  const expected = expectFilter(firewall, server);
  if (expected.status >= 300 || server === undefined) return refusal(expected);
  firewall?.servers.add(server);
  return told(model);
}

export function detachFirewall(
  model: ControlPlaneModel,
  number: number,
  server: ModelServer | undefined,
): FirewallAnswer {
  const firewall = model.state.firewalls[number - 1];
  if (server === undefined || firewall?.servers.delete(server) !== true) return refusal(absent);
  return told(model);
}

/** Another rule in place of the present one, unless it is the same. */
export function changeFirewall(model: ControlPlaneModel, number: number, port: number): FirewallAnswer {
  const firewall = model.state.firewalls[number - 1];
  if (firewall === undefined) return refusal(absent);
  applyRule(firewall, port);
  return told(model);
}

function told(model: ControlPlaneModel): FirewallAnswer {
  const jobs = tellServers(model.state);
  if (jobs.length > 0) model.onNews();
  return { status: jobs.length === 0 ? 200 : 202, body: { jobs } };
}
