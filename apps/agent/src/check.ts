// Checks everything that the agent is going to need, and changes nothing.

import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { type Finding, preflight } from "@kule/proxmox/preflight";
import type { RegionFile } from "@kule/region-config/region-file";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import { checkEdge } from "./check-edge.ts";
import type { Answer, ControlPlane } from "./control-plane.ts";
import { tokenProblem } from "./own-region.ts";
import { hypervisorClient, preflightSettings } from "./region.ts";
import { type AgentRuntime, withinTime } from "./runtime.ts";
import { existingSealingKey } from "./sealing-key.ts";

/** Certificates and the times in logs stop making sense beyond this; leases do not depend on clocks. */
const CLOCK_SKEW_SECONDS = 60;

export type { Finding } from "@kule/proxmox/preflight";

/** All findings, in the order in which they should be corrected. */
export async function checkRegion(
  file: RegionFile,
  stateDirectory: string,
  controlPlane: ControlPlane,
  runtime: AgentRuntime,
): Promise<Finding[]> {
  const [apiFindings, hypervisorFindings, edgeFindings] = await Promise.all([
    checkControlPlane(file, controlPlane, runtime),
    checkHypervisor(file),
    checkEdge(file, runtime),
  ]);
  return [
    good("region file", file.path),
    checkState(stateDirectory),
    ...apiFindings,
    ...hypervisorFindings,
    ...edgeFindings,
  ];
}

async function checkControlPlane(
  file: RegionFile,
  controlPlane: ControlPlane,
  runtime: AgentRuntime,
): Promise<Finding[]> {
  const { url, token } = file.controlPlane;
  const askedAt = runtime.now();
  const answer = await withinTime(runtime, 15_000, null, (signal) => controlPlane.me(signal)).catch(
    (): Answer<never> => ({ kind: "away", message: "no answer", retryAfterSeconds: null }),
  );
  const answeredAt = runtime.now();
  switch (answer.kind) {
    case "away":
      return [
        bad(
          "control plane",
          `${url}: ${answer.message}`,
          "Check control_plane, the name's address and outbound HTTPS from this network. A private certificate authority goes into NODE_EXTRA_CA_CERTS.",
        ),
      ];
    case "refused":
      return [
        bad(
          "control plane",
          `${url}: ${answer.message}`,
          "Check that control_plane is the API's address with /api/v1.",
        ),
      ];
    case "unauthorized":
      return [
        good("control plane", `${url} answers`),
        bad(
          "agent token",
          `not accepted (${answer.message})`,
          `Mint one with POST /regions/${file.region}/agent-tokens as an operator and put it into the ${token.source}.`,
        ),
      ];
    case "ok": {
      const problem = tokenProblem(answer.value, file.region);
      return [
        good("control plane", `${url} answers`),
        problem === null
          ? good("agent token", `of region ${file.region}`)
          : bad(
              "agent token",
              problem,
              `Use a token of region ${file.region}, or the region file that belongs to the token.`,
            ),
        checkClock(answer.date, askedAt, answeredAt),
      ];
    }
  }
}

/** The Date header has whole seconds and was written at some time between the request and the answer. */
function checkClock(date: Date | null, askedAt: number, answeredAt: number): Finding {
  if (date === null) return good("clock", "the control plane does not say what time it is");
  const earliest = date.getTime();
  const skew =
    earliest > answeredAt ? earliest - answeredAt : earliest + 999 < askedAt ? earliest + 999 - askedAt : 0;
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (seconds <= CLOCK_SKEW_SECONDS) return good("clock", seconds === 0 ? "in step" : `${seconds} s apart`);
  return bad(
    "clock",
    `this machine's clock is ${seconds} s ${skew > 0 ? "behind" : "ahead of"} the control plane's`,
    "Let both follow a time server: timedatectl set-ntp true",
  );
}

async function checkHypervisor(file: RegionFile): Promise<Finding[]> {
  const client = hypervisorClient(file);
  try {
    return (await preflight(client, preflightSettings(file))).map((finding) => ({
      ...finding,
      check: `hypervisor: ${finding.check}`,
    }));
  } finally {
    client.close();
  }
}

function checkState(directory: string): Finding {
  try {
    const key = existsSync(directory) ? existingSealingKey(directory) : null;
    if (key !== null)
      return good("state", `${directory} holds the key pair, ${keyFingerprint(key.publicKey)}`);
    // The nearest existing folder is where the agent will have to create it.
    let place = directory;
    while (!existsSync(place)) place = dirname(place);
    accessSync(place, constants.W_OK | constants.X_OK);
    return good("state", `${directory}: the key pair is made at the first start`);
  } catch (error) {
    return bad(
      "state",
      error instanceof Error ? error.message : String(error),
      "Make it a folder that the agent's user may write, or set KULE_AGENT_STATE.",
    );
  }
}

function good(check: string, found: string): Finding {
  return { check, ok: true, severity: "required", found, fix: null };
}

function bad(check: string, found: string, fix: string): Finding {
  return { check, ok: false, severity: "required", found, fix };
}
