// The changes that make a VM's config the wanted one. Only differing keys are sent: a needless write changes
// the digest that other writers rely on, and rewriting cloud-init keys makes a guest run it again.

import type { DesiredConfig } from "./hypervisor.ts";
import { parsePropertyString, sameNetDevice, samePropertyString } from "./property-string.ts";
import { decodeSshKeys } from "./ssh-keys.ts";
import { parseTags, sameTags } from "./tags.ts";

export type ConfigDifference = {
  readonly set: Readonly<Record<string, string>>;
  readonly remove: readonly string[];
};

const SECRET_KEYS = new Set(["cipassword"]);
const INDEXED = /^([a-z]+)\d+$/;
/**
 * Families of which a server has exactly the wanted ones: one too many is a network that was not requested.
 */
const EXACT_FAMILIES = new Set(["net", "ipconfig"]);

function sameValue(key: string, wanted: string, seen: string): boolean {
  const family = INDEXED.exec(key)?.[1] ?? key;
  switch (family) {
    case "net":
      return sameNetDevice(wanted, seen);
    case "ipconfig":
      return samePropertyString(wanted, seen);
    case "agent":
      return agentEnabled(wanted) === agentEnabled(seen);
    case "tags":
      return sameTags(parseTags(wanted), parseTags(seen));
    case "sshkeys":
      return decodeSshKeys(wanted).join("\n") === decodeSshKeys(seen).join("\n");
    case "nameserver":
    case "searchdomain":
      return wanted.split(/[\s,;]+/).join(" ") === seen.split(/[\s,;]+/).join(" ");
    case "description":
      return wanted.trim() === seen.trim();
    case "name":
      return wanted.toLowerCase() === seen.toLowerCase();
    default:
      return wanted === seen || (wanted !== "" && seen !== "" && Number(wanted) === Number(seen));
  }
}

/** "1", "enabled=1" and "enabled=1,fstrim_cloned_disks=1" all switch the guest agent on. */
export function agentEnabled(text: string | undefined): boolean {
  return text !== undefined && parsePropertyString(text, "enabled").get("enabled") === "1";
}

/** Keys that default to off: absent and "0" are the same thing. */
const OFF_BY_DEFAULT = new Set(["onboot", "protection", "autostart"]);

/** Nothing to do when both are empty. Secrets count as equal when present, unless they are to be rewritten. */
export function configDifference(
  desired: DesiredConfig,
  config: Readonly<Record<string, string>>,
  rewriteSecrets: boolean,
): ConfigDifference {
  const set: Record<string, string> = {};
  const remove = new Set<string>();
  for (const [key, wanted] of Object.entries(desired)) {
    const seen = config[key];
    if (wanted === null) {
      if (seen !== undefined && !(OFF_BY_DEFAULT.has(key) && seen === "0")) remove.add(key);
    } else if (SECRET_KEYS.has(key)) {
      if (rewriteSecrets || seen === undefined) set[key] = wanted;
    } else if (seen === undefined || !sameValue(key, wanted, seen)) set[key] = wanted;
  }
  const families = new Set(Object.keys(desired).map((key) => INDEXED.exec(key)?.[1] ?? ""));
  for (const key of Object.keys(config)) {
    const family = INDEXED.exec(key)?.[1] ?? "";
    if (EXACT_FAMILIES.has(family) && families.has(family) && !(key in desired)) remove.add(key);
  }
  return { set, remove: [...remove].sort() };
}

export function isEmptyDifference(difference: ConfigDifference): boolean {
  return Object.keys(difference.set).length === 0 && difference.remove.length === 0;
}
