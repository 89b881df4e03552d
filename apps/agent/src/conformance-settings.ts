// Which cluster the conformance suite is run against and what it may destroy there: from the region file, and from
// variables, which go before it.

import { readFileSync } from "node:fs";
import type { ConformanceSettings } from "@kule/proxmox/conformance/conformance";
import type { TlsTrust } from "@kule/proxmox/trusted-agent";
import { checkTrust } from "@kule/proxmox/trusted-agent";
import type { RegionFile } from "@kule/region-config/region-file";
import type { Environment } from "@kule/region-config/secret-references";
import { templateVmids } from "./region.ts";
import { SettingsError } from "./settings.ts";

export type ConformancePlan = ConformanceSettings & {
  readonly endpoints: readonly string[];
  /** USER@REALM!NAME=SECRET */
  readonly token: string;
  readonly tls: TlsTrust;
};

const TOKEN =
  /^[^\s:/]{1,64}@[A-Za-z][A-Za-z0-9._-]{1,63}![A-Za-z][A-Za-z0-9._-]{1,127}=[\x21-\x3a\x3c-\x7e]{1,255}$/;
const AGENT_SECONDS = 180;

/** Throws SettingsError that names every variable that is missing or wrong. */
export function conformancePlan(file: RegionFile | null, environment: Environment): ConformancePlan {
  const problems: string[] = [];
  const given = (variable: string) => environment[variable]?.trim() || null;
  const needed = (variable: string, what: string, otherwise: string | undefined): string => {
    const value = given(variable) ?? otherwise;
    if (value === undefined) problems.push(`${variable} is not set: ${what}`);
    return value ?? "";
  };
  const url = given("KULE_PVE_URL");
  const endpoints = url === null ? (file?.hypervisor.endpoints ?? []) : [url];
  if (endpoints.length === 0)
    problems.push("KULE_PVE_URL is not set: https://HOST:8006 of a node of the test cluster");
  for (const each of endpoints)
    if (!/^https:\/\/[^/?#]+\/?$/.test(each))
      problems.push(`KULE_PVE_URL ${each} is not like https://HOST:8006`);
  const token = needed("KULE_PVE_TOKEN", "USER@REALM!NAME=SECRET", file?.hypervisor.token.reveal());
  if (token !== "" && !TOKEN.test(token)) problems.push("KULE_PVE_TOKEN is not like USER@REALM!NAME=SECRET");
  const storage = needed("KULE_PVE_STORAGE", "the storage of disks", file?.storage.disks);
  const bridge = needed("KULE_PVE_BRIDGE", "a bridge that the token may use", file?.network.bridge);
  const [first] = file === null ? [] : Object.values(templateVmids(file)).flat();
  const template = needed(
    "KULE_PVE_TEMPLATE",
    "the VM number of a Linux template with a guest agent",
    first?.toString(),
  );
  if (template !== "" && !isVmid(template)) problems.push(`KULE_PVE_TEMPLATE ${template} is not a VM number`);
  // Never from the file: what may be destroyed must be named each time.
  const range = needed(
    "KULE_PVE_VMIDS",
    "unused VM numbers that may be destroyed, such as 29990-29995",
    undefined,
  );
  const [, from = "", to = ""] = /^(\d+)-(\d+)$/.exec(range) ?? [];
  if (range !== "" && !(isVmid(from) && isVmid(to) && Number(from) < Number(to)))
    problems.push(`KULE_PVE_VMIDS ${range} is not a range like 29990-29995`);
  const seconds = given("KULE_PVE_AGENT_SECONDS") ?? String(AGENT_SECONDS);
  if (!/^\d{1,4}$/.test(seconds)) problems.push("KULE_PVE_AGENT_SECONDS must be a whole number of seconds");
  const tls = trust(file, given("KULE_PVE_FINGERPRINT"), given("KULE_PVE_CA"), url !== null, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    endpoints,
    token,
    tls,
    storage,
    bridge,
    template: Number(template),
    vmids: [Number(from), Number(to)],
    agentSeconds: Number(seconds),
  };
}

const isVmid = (text: string): boolean => /^[1-9]\d{2,8}$/.test(text);

/** The file's certificate settings are for the file's endpoints: another address has its own. */
function trust(
  file: RegionFile | null,
  fingerprint: string | null,
  ca: string | null,
  hasUrl: boolean,
  problems: string[],
): TlsTrust {
  if (fingerprint !== null && ca !== null) problems.push("set KULE_PVE_FINGERPRINT or KULE_PVE_CA, not both");
  if (fingerprint !== null) {
    const tls = { fingerprints: fingerprint.split(",").map((each) => each.trim()) };
    try {
      checkTrust(tls);
    } catch (error) {
      problems.push(`KULE_PVE_FINGERPRINT: ${error instanceof Error ? error.message : String(error)}`);
    }
    return tls;
  }
  if (ca !== null)
    try {
      return { ca: readFileSync(ca, "utf8") };
    } catch (error) {
      problems.push(`KULE_PVE_CA: ${error instanceof Error ? error.message : String(error)}`);
    }
  return file !== null && !hasUrl ? file.hypervisor.tls : { system: true };
}
