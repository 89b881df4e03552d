// The guest agent's data about a running guest, and programs run through it. There may be no agent, or one
// that does not answer yet: that is a state to plan with, not an error.

import type { CallOptions, ProxmoxClient } from "./client.ts";
import { ProxmoxAgentUnavailable } from "./errors.ts";
import { asList, asRecord, asText, endOf, processOf, resultOf } from "./guest-answer.ts";
import type { Runtime } from "./runtime.ts";

export type GuestInterface = {
  /** Lower case. */
  readonly mac: string;
  /** As "203.0.113.10/24", in lower case; without link-local ones. */
  readonly addresses: readonly string[];
};

export type GuestCommand = {
  /** The program and its arguments, each as it is: no shell is between. */
  readonly argv: readonly string[];
  /** Its standard input. */
  readonly input?: string;
};

/** How a program in the guest ended. */
export type GuestEnd = {
  /** -1 when it was ended by a signal. */
  readonly exitCode: number;
  /** Empty when it printed nothing, or more than 256 KiB. */
  readonly output: string;
  /** The first 4 KiB of its standard error. */
  readonly errors: string;
};

type VmPath = { readonly node: string; readonly vmid: number };

const EXEC_TIMEOUT_MILLISECONDS = 30_000;
const EXEC_POLL_MILLISECONDS = 500;
/** Proxmox VE hands on what the agent has kept, which is 16 MiB, and cuts nothing. */
const MOST_OUTPUT = 256 * 1024;
const MOST_ERRORS = 4 * 1024;

/** The guest's interfaces; null when no agent answers. */
export async function readGuestInterfaces(
  client: ProxmoxClient,
  path: VmPath,
  signal?: AbortSignal,
): Promise<readonly GuestInterface[] | null> {
  let answer: unknown;
  try {
    answer = await client.call("GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", path, {
      signal,
    });
  } catch (error) {
    if (error instanceof ProxmoxAgentUnavailable) return null;
    throw error;
  }
  // An error of the agent may come with a 200.
  const result = resultOf(answer);
  if (!Array.isArray(result)) return null;
  return asList(result, MOST_INTERFACES).flatMap((each) => {
    const { "hardware-address": mac, "ip-addresses": addresses } = asRecord(each);
    const text = asText(mac, 17)?.toLowerCase() ?? "";
    return MAC.test(text) ? [{ mac: text, addresses: addressesIn(addresses) }] : [];
  });
}

const MOST_INTERFACES = 64;
const MOST_ADDRESSES = 64;
const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/;
const ADDRESS = /^[0-9a-f:.]{2,45}$/;

/** Those that are addresses with a prefix; link-local ones do not count. */
function addressesIn(all: unknown): string[] {
  return asList(all, MOST_ADDRESSES).flatMap((each) => {
    const { "ip-address": address, prefix } = asRecord(each);
    const text = asText(address, 45)?.toLowerCase() ?? "";
    const bits = Number.isInteger(prefix) ? Number(prefix) : -1;
    if (!ADDRESS.test(text) || bits < 0 || bits > 128 || text.startsWith("fe80:")) return [];
    return [`${text}/${bits}`];
  });
}

/** The guest's own name; null when its agent answers nothing that can be a name. Throws a ProxmoxError. */
export async function readGuestName(
  client: ProxmoxClient,
  path: VmPath,
  signal?: AbortSignal,
): Promise<string | null> {
  const answer = await client.call("GET /nodes/{node}/qemu/{vmid}/agent/get-host-name", path, { signal });
  return asText(asRecord(resultOf(answer))["host-name"], 253);
}

/**
 * Runs a program in the guest and waits for its end.
 *
 * @returns how it ended; null when the agent does not run it, or it does not end in time
 */
export async function runInGuest(
  client: ProxmoxClient,
  runtime: Runtime,
  path: VmPath,
  { argv, input }: GuestCommand,
  options: CallOptions,
): Promise<GuestEnd | null> {
  try {
    const begun = await client.call(
      "POST /nodes/{node}/qemu/{vmid}/agent/exec",
      { ...path, command: argv, ...(input === undefined ? {} : { "input-data": input }) },
      options,
    );
    const pid = processOf(begun);
    if (pid === null) return null;
    const deadline = runtime.now() + EXEC_TIMEOUT_MILLISECONDS;
    for (;;) {
      // Before the look: a process that was suspended meanwhile looks once more.
      const isLast = runtime.now() >= deadline;
      const status = await client.call(
        "GET /nodes/{node}/qemu/{vmid}/agent/exec-status",
        { ...path, pid },
        { signal: options.signal },
      );
      const end = endOf(status);
      if (end !== null)
        return {
          exitCode: end.exitCode,
          output: asText(end.output, MOST_OUTPUT) ?? "",
          errors: (asText(end.errors, MOST_OUTPUT) ?? "").slice(0, MOST_ERRORS),
        };
      if (isLast) return null;
      await runtime.pause(EXEC_POLL_MILLISECONDS, options.signal ?? undefined);
    }
  } catch (error) {
    if (error instanceof ProxmoxAgentUnavailable) return null;
    throw error;
  }
}
