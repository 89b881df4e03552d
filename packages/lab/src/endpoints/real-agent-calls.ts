import { createHash } from "node:crypto";
import { failure } from "../api-error.ts";
import { type Call, flag, number, required, text } from "../call.ts";
import { AgentRefused, AgentSilent } from "../real-guests/agent-channel.ts";
import type { Machine } from "../real-guests/machine.ts";
import { vmOn } from "../region.ts";
import { agentEnabled } from "../vm/guest.ts";

/*
 * The calls of a guest agent that really runs. Limits of lengths are in the API's schema; what is here is what
 * Proxmox VE does between its API and the agent's channel.
 */

const PING_MS = 3_000;
/** A file that is read is read in parts of this size, as the agent allows it. */
const PART_BYTES = 1024 * 1024;

/** The agent of a call's VM; null when its guest is simulated. @throws the 500 that names what is missing */
export async function realAgent(call: Call): Promise<RealAgent | null> {
  const vm = vmOn(call.region, call.node, required(call, "vmid"));
  const { realGuests, taskFaults } = call.region;
  if (realGuests?.isReal(vm) !== true) return null;
  if (!agentEnabled(vm)) throw failure("No QEMU guest agent configured");
  if (vm.process === null) throw failure(`VM ${vm.vmid} is not running`);
  const machine = realGuests.machine(vm.vmid);
  if (machine === undefined || vm.process.paused || taskFaults.agentless.has(vm.vmid))
    throw failure("QEMU guest agent is not running");
  try {
    await machine.agent.ask("guest-ping", {}, PING_MS);
  } catch {
    throw failure("QEMU guest agent is not running");
  }
  return new RealAgent(machine);
}

/** The guest agent of one VM, as the API's calls use it. */
export class RealAgent {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** A call that hands the agent's answer on: its errors too, with a 200. */
  async simple(command: string): Promise<unknown> {
    try {
      return { result: await this.#machine.agent.ask(command) };
    } catch (error) {
      if (error instanceof AgentRefused)
        return { result: { error: { class: error.class, desc: error.message } } };
      throw this.#failed(command, error);
    }
  }

  async exec(call: Call): Promise<unknown> {
    const given = call.params.command;
    const [path, ...arg] = Array.isArray(given) ? given : given === undefined ? [] : [given];
    if (path === undefined) throw failure("empty command");
    const input = text(call, "input-data");
    const answer = (await this.#ask("guest-exec", {
      path,
      arg,
      "capture-output": true,
      ...(input === undefined ? {} : { "input-data": Buffer.from(input).toString("base64") }),
    })) as { readonly pid: number };
    call.region.store.commit(
      {
        op: "guest-exec",
        node: call.node,
        vmid: this.#machine.vmid,
        user: call.authUser,
        detail: { program: path },
      },
      [],
    );
    return { pid: answer.pid };
  }

  async execStatus(call: Call): Promise<unknown> {
    const answer = (await this.#ask("guest-exec-status", { pid: number(call, "pid") ?? 0 })) as ExecStatus;
    const { exited, "out-truncated": outCut, "err-truncated": errCut, ...rest } = answer;
    const decoded = (name: "out-data" | "err-data") =>
      rest[name] === undefined ? {} : { [name]: Buffer.from(rest[name], "base64").toString("utf8") };
    return {
      ...rest,
      ...decoded("out-data"),
      ...decoded("err-data"),
      exited: exited ? 1 : 0,
      ...(outCut === undefined ? {} : { "out-truncated": outCut ? 1 : 0 }),
      ...(errCut === undefined ? {} : { "err-truncated": errCut ? 1 : 0 }),
    };
  }

  async fileRead(call: Call): Promise<unknown> {
    const most = number(call, "count") ?? 16 * 1024 * 1024;
    const handle = await this.#ask("guest-file-open", { path: required(call, "file"), mode: "r" });
    const parts: Buffer[] = [];
    let bytes = 0;
    let atEnd = false;
    try {
      const offset = number(call, "offset") ?? 0;
      if (offset > 0) await this.#ask("guest-file-seek", { handle, offset, whence: "set" });
      while (!atEnd && bytes < most) {
        const read = (await this.#ask("guest-file-read", {
          handle,
          count: Math.min(PART_BYTES, most - bytes),
        })) as { readonly eof: boolean; readonly "buf-b64": string };
        const part = Buffer.from(read["buf-b64"], "base64");
        parts.push(part);
        bytes += part.length;
        atEnd = read.eof || part.length === 0;
      }
    } finally {
      await this.#ask("guest-file-close", { handle });
    }
    const content = Buffer.concat(parts);
    return {
      content: content.toString(flag(call, "decode", true) ? "utf8" : "base64"),
      "bytes-read": bytes,
      ...(atEnd ? {} : { truncated: 1 }),
    };
  }

  async fileWrite(call: Call): Promise<unknown> {
    const content = required(call, "content");
    const base64 = flag(call, "encode", true) ? Buffer.from(content).toString("base64") : content;
    const handle = await this.#ask("guest-file-open", { path: required(call, "file"), mode: "wb" });
    try {
      await this.#ask("guest-file-write", { handle, "buf-b64": base64 });
    } finally {
      await this.#ask("guest-file-close", { handle });
    }
    return null;
  }

  async setPassword(call: Call): Promise<unknown> {
    const [username, password] = [required(call, "username"), required(call, "password")];
    const crypted = flag(call, "crypted");
    await this.#ask("guest-set-user-password", {
      username,
      password: Buffer.from(password).toString("base64"),
      crypted,
    });
    // A digest, so that a test can see which password was set without the journal holding it.
    const sha256 = createHash("sha256").update(password).digest("hex");
    call.region.store.commit(
      {
        op: "guest-password-set",
        node: call.node,
        vmid: this.#machine.vmid,
        user: call.authUser,
        detail: { username, crypted, sha256 },
      },
      [],
    );
    return { result: {} };
  }

  async #ask(command: string, args: object): Promise<unknown> {
    try {
      return await this.#machine.agent.ask(command, args);
    } catch (error) {
      throw this.#failed(command, error);
    }
  }

  #failed(command: string, error: unknown): unknown {
    if (error instanceof AgentRefused) return failure(`Agent error: ${error.message}`);
    if (error instanceof AgentSilent)
      return failure(`VM ${this.#machine.vmid} qmp command '${command}' failed - ${error.message}`);
    return error;
  }
}

type ExecStatus = {
  readonly exited: boolean;
  readonly exitcode?: number;
  readonly signal?: number;
  readonly "out-data"?: string;
  readonly "err-data"?: string;
  readonly "out-truncated"?: boolean;
  readonly "err-truncated"?: boolean;
};
