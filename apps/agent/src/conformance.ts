// `kule-agent conformance`: replays every call of the driver against a test cluster and prints where the
// answers differ from what the driver relies on.

import { ProxmoxClient } from "@kule/proxmox/client";
import { ConformanceRefused, runConformance } from "@kule/proxmox/conformance/conformance";
import type { ProbeResult } from "@kule/proxmox/conformance/probe-run";
import { ProxmoxError } from "@kule/proxmox/errors";
import { systemRuntime } from "@kule/proxmox/runtime";
import type { ConformancePlan } from "./conformance-settings.ts";

export type ConformanceEnd = "as expected" | "differs" | "refused" | "called off";

/**
 * Prints a line for each call as it is tried, and the result. Everything that it creates is removed before it
 * returns.
 */
export async function conformance(
  plan: ConformancePlan,
  signal: AbortSignal,
  print: (text: string) => void,
): Promise<ConformanceEnd> {
  const equals = plan.token.indexOf("=");
  const [tokenId, secret] = [plan.token.slice(0, equals), plan.token.slice(equals + 1)];
  const connect = (tokenSecret: string) =>
    new ProxmoxClient({ endpoints: plan.endpoints, tls: plan.tls, tokenId, tokenSecret });
  const client = connect(secret);
  const stranger = connect("00000000-0000-0000-0000-000000000000");
  const [first, last] = plan.vmids;
  print(
    `${plan.endpoints.join(", ")} as ${tokenId}: template ${plan.template}, VM numbers ${first} to ${last}\n`,
  );
  const told: ProbeResult[] = [];
  const onResult = (result: ProbeResult): void => {
    told.push(result);
    print(`${lineOf(told.length, result)}\n`);
  };
  try {
    await runConformance(client, stranger, plan, { runtime: systemRuntime, signal, onResult });
  } catch (error) {
    if (signal.aborted) {
      print("\naborted; what was created has been removed, except what is listed above\n");
      return "called off";
    }
    if (!(error instanceof ConformanceRefused) && !(error instanceof ProxmoxError)) throw error;
    print(`\nnot run to its end: ${error.message}\n`);
    return "refused";
  } finally {
    client.close();
    stranger.close();
  }
  const different = told.filter(({ differs, tried }) => differs !== null && tried);
  const untried = told.filter(({ tried }) => !tried);
  const sum =
    different.length + untried.length === 0
      ? `as expected: ${told.length} answers`
      : `not as expected: ${different.length} of ${told.length} answers differ, ${untried.length} could not be tried`;
  print(
    `\n${[...different, ...untried].map(({ call, what, differs }) => `${call}, ${what}: ${differs}\n`).join("")}${sum}\n`,
  );
  return different.length + untried.length === 0 ? "as expected" : "differs";
}

function lineOf(number: number, { call, what, differs, tried }: ProbeResult): string {
  const mark = differs === null ? "ok" : tried ? "DIFFERS" : "LEFT";
  return `${String(number).padStart(3)} ${mark.padEnd(8)} ${call}, ${what}${differs === null ? "" : `: ${differs}`}`;
}
