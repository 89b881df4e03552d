import { operations } from "@kule/contract/generated/operations";
import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { newId } from "../../platform/ids.ts";
import type { ApiCaller } from "../api-caller.ts";
import type { Replica } from "../api-world.ts";
import { isPermitted } from "./isolation-matrix.ts";
import { type Actor, actorsOf } from "./matrix-actors.ts";
import { standingPath } from "./matrix-objects.ts";
import { callOperation, type OperationCall, type RawAnswer } from "./operation-call.ts";
import { personalCall } from "./person.ts";
import { recipes } from "./recipes.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

type More = Pick<OperationCall, "query" | "headers"> & { readonly body?: unknown };

/** Calls operations so that they answer what they document: right, and wrong in every way that all of them share. */
export class Provocations {
  readonly #all: TwoOrganisations;
  readonly #actors: readonly Actor[];

  constructor(all: TwoOrganisations) {
    this.#all = all;
    this.#actors = actorsOf(all);
  }

  /** A valid call, with objects of its own; and as a dry run, where there is one. */
  async succeed(info: OperationInfo): Promise<void> {
    if (info.queryParameters.includes("dry_run"))
      await this.call(info, this.#permitted(info).caller, await this.#fresh(info), {
        query: { dry_run: "true" },
      });
    const personal = await personalCall(info, this.#all.a, this.#all.world);
    const { caller = this.#permitted(info).caller, ...more } = personal ?? {};
    await this.call(info, caller, await this.#fresh(info), more);
  }

  /** A call with one error, the one of the status. */
  async refuse(info: OperationInfo, status: 400 | 401 | 403 | 404 | 412 | 422): Promise<void> {
    const { caller } = this.#permitted(info);
    const standing = this.#standing(info);
    switch (status) {
      case 401:
        await this.call(info, this.#all.callers.none, standing);
        return;
      case 403: {
        const stranger = this.#actors.find(
          (actor) => actor.kind !== "nobody" && !isPermitted(actor, { operation: info.id }),
        );
        if (stranger !== undefined) await this.call(info, stranger.caller, standing);
        return;
      }
      case 404:
        await this.call(
          info,
          caller,
          Object.fromEntries(info.pathParameters.map((name) => [name, absent(name)])),
        );
        return;
      case 400:
        await this.#raw(info, caller, standing, "{");
        return;
      case 412:
        await this.call(info, caller, await this.#fresh(info), { headers: { "If-Match": '"g999999"' } });
        return;
      case 422:
        if (info.body === null) await this.call(info, caller, standing, { query: { x_unknown: "1" } });
        else await this.call(info, caller, standing, { body: { x_unknown: 1 } });
    }
  }

  /** At another replica: one without a database, or one whose limits are used up. */
  async at(replica: Replica, info: OperationInfo): Promise<RawAnswer> {
    return this.call(info, this.#permitted(info).caller.at(replica.app), this.#standing(info));
  }

  /** As an actor of the side, with its standing objects. */
  async as(side: Side, caller: ApiCaller, info: OperationInfo, more: More = {}): Promise<RawAnswer> {
    return this.call(info, caller, standingPath(info, side, this.#all), more, side);
  }

  async call(
    info: OperationInfo,
    caller: ApiCaller,
    path: Readonly<Record<string, string>>,
    more: More = {},
    side: Side = this.#all.a,
  ): Promise<RawAnswer> {
    const body = "body" in more ? more.body : await recipes[info.id].body?.(side, this.#all);
    return callOperation(caller, {
      operation: info.id,
      path,
      ...(info.body === null ? {} : { body }),
      ...more,
      headers: {
        ...this.#actingIn(info, caller, side),
        ...more.headers,
      },
    });
  }

  async #raw(info: OperationInfo, caller: ApiCaller, path: Readonly<Record<string, string>>, body: string) {
    const target = info.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => path[name] ?? "");
    await caller.send(info.method.toUpperCase(), target, body, {
      "Content-Type": "application/json",
      ...this.#actingIn(info, caller, this.#all.a),
    });
  }

  /** Operators name the organisation that they act in. */
  #actingIn(info: OperationInfo, caller: ApiCaller, side: Side): Readonly<Record<string, string>> {
    const isOperator = caller.token === this.#all.world.operator.token;
    return isOperator && info.headerParameters.includes("Kule-Organisation")
      ? { "Kule-Organisation": side.tenant.id }
      : {};
  }

  #standing(info: OperationInfo): Record<string, string> {
    return standingPath(info, this.#all.a, this.#all);
  }

  async #fresh(info: OperationInfo): Promise<Record<string, string>> {
    const made = await recipes[info.id].path?.(this.#all.a, this.#all);
    return { ...(made ?? this.#standing(info)) };
  }

  /** An actor of A who may call the operation; a person rather than an operator. */
  #permitted(info: OperationInfo): Actor {
    const found = this.#actors.find(
      (actor) =>
        actor.side === this.#all.a && actor.kind !== "nobody" && isPermitted(actor, { operation: info.id }),
    );
    if (found === undefined) throw new Error(`nobody may call ${info.id}`);
    return found;
  }
}

/** Reads and changes by their id. */
export function infoOf(id: OperationId): OperationInfo {
  return operations[id];
}

const prefixes: { readonly [name: string]: Parameters<typeof newId>[0] } = {
  organisation_id: "org",
  member_id: "mem",
  invitation_id: "inv",
  token_id: "tok",
  ssh_key_id: "key",
  network_id: "net",
  subnet_id: "sub",
  server_id: "srv",
  ip_pool_id: "pool",
  range_id: "rng",
  public_ip_id: "ip",
  domain_id: "dom",
  certificate_id: "cert",
  job_id: "job",
  agent_rollout_id: "rol",
  login_session_id: "tok",
};

function absent(name: string): string {
  return name === "region" ? "nowhere-1" : newId(prefixes[name] ?? "srv");
}
