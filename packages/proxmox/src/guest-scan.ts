// The data of the system inside a VM, through its guest agent. A guest may be booting, busy, without an agent
// or malicious: every answer is limited in time and size, and none is trusted to have the right shape.

import type { ProxmoxClient } from "./client.ts";
import { asList, asRecord, asText, endOf, processOf, resultOf } from "./guest-answer.ts";
import type { Runtime } from "./runtime.ts";
import type { VmPath } from "./vm-scan.ts";

export type CloudInitState = "unknown" | "running" | "done" | "error";
export type GuestSystem = { readonly os: string | null; readonly hostname: string | null };

type Limits = { readonly deadlineMilliseconds: number; readonly signal?: AbortSignal | undefined };

const MOST_INTERFACES = 64;
const MOST_ADDRESSES = 64;
const MOST_STATUS_CHARACTERS = 65_536;
const EXEC_POLL_MILLISECONDS = 250;
const EXEC_POLLS = 12;

/** The addresses of all interfaces but the loopback. Throws a ProxmoxError when no agent answers. */
export async function guestAddresses(client: ProxmoxClient, path: VmPath, limits: Limits): Promise<string[]> {
  const answer = await client.call(
    "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces",
    path,
    limits,
  );
  const addresses = asList(resultOf(answer), MOST_INTERFACES).flatMap((each) => {
    const { name, "ip-addresses": all } = asRecord(each);
    if (name === "lo") return [];
    return asList(all, MOST_ADDRESSES).flatMap((entry) => {
      const address = asRecord(entry)["ip-address"];
      return typeof address === "string" && /^[0-9a-fA-F:.%a-z]{2,60}$/.test(address) ? [address] : [];
    });
  });
  return [...new Set(addresses)].slice(0, MOST_ADDRESSES);
}

/** Its system and name. Throws a ProxmoxError when no agent answers. */
export async function guestSystem(client: ProxmoxClient, path: VmPath, limits: Limits): Promise<GuestSystem> {
  const [os, host] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/agent/get-osinfo", path, limits),
    client.call("GET /nodes/{node}/qemu/{vmid}/agent/get-host-name", path, limits),
  ]);
  const osInfo = asRecord(resultOf(os));
  return {
    os: textOf(osInfo["pretty-name"], 200) ?? textOf(osInfo.name, 200),
    hostname: textOf(asRecord(resultOf(host))["host-name"], 253),
  };
}

/**
 * The state of cloud-init, from its own command. A fixed command without a shell. Windows has none. Throws a
 * ProxmoxError when no agent answers, or it may not run commands.
 */
export async function guestCloudInit(
  client: ProxmoxClient,
  runtime: Runtime,
  path: VmPath,
  limits: Limits,
): Promise<CloudInitState> {
  const begun = await client.call(
    "POST /nodes/{node}/qemu/{vmid}/agent/exec",
    { ...path, command: ["cloud-init", "status", "--format", "json"] },
    limits,
  );
  const pid = processOf(begun);
  if (pid === null) return "unknown";
  for (let poll = 0; poll < EXEC_POLLS; poll++) {
    const status = await client.call(
      "GET /nodes/{node}/qemu/{vmid}/agent/exec-status",
      { ...path, pid },
      limits,
    );
    const end = endOf(status);
    if (end !== null) return cloudInitState(end.output);
    await runtime.pause(EXEC_POLL_MILLISECONDS, limits.signal);
  }
  return "unknown";
}

/** Parses the output of `cloud-init status --format json`; anything else is unknown. */
export function cloudInitState(output: unknown): CloudInitState {
  let status: unknown;
  try {
    status = asRecord(JSON.parse(asText(output, MOST_STATUS_CHARACTERS) ?? "")).status;
  } catch {
    return "unknown";
  }
  switch (status) {
    case "done":
    case "degraded done":
      return "done";
    case "error":
      return "error";
    case "running":
    case "degraded running":
    case "not run":
    case "not started":
      return "running";
    default:
      return "unknown";
  }
}

/** Visible text of a length that can be kept. */
function textOf(value: unknown, characters: number): string | null {
  if (typeof value !== "string") return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const text = value.replaceAll(/[\u0000-\u001f\u007f]/g, " ").trim();
  return text === "" ? null : text.slice(0, characters).toWellFormed();
}
