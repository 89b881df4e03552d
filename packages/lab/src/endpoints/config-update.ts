import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, refuseRootOnly, required, text } from "../call.ts";
import type { VmDocument } from "../documents.ts";
import { type Region, vmOn } from "../region.ts";
import { isOption } from "../schema/option-keys.ts";
import { splitList } from "../schema/property-schema.ts";
import { configDigest } from "../vm/config-file.ts";
import { requireNoConfigLock } from "../vm/config-lock.ts";
import { validateSshKeys } from "../vm/ssh-keys.ts";

const NOT_OPTIONS = new Set([
  "node",
  "vmid",
  "digest",
  "delete",
  "revert",
  "force",
  "skiplock",
  "background_delay",
  "import-working-storage",
]);

/** The changes that a PUT or POST config requests. */
export interface ConfigUpdate {
  readonly vmid: number;
  readonly options: Record<string, string>;
  readonly deletions: string[];
  readonly reverts: string[];
  readonly force: boolean;
  readonly digest: string | undefined;
}

function hookscriptProblem(region: Region, volid: string): string | null {
  const storage = volid.split(":")[0] ?? "";
  if (region.store.get("storage", storage) === undefined) return `storage '${storage}' does not exist`;
  if (region.store.get("volume", volid) !== undefined) return `'${volid}' is not in the snippets directory`;
  return `script '${volid}' does not exist`;
}

/** Reads the parameters of a config change; throws what they contradict. */
export function parseConfigUpdate(call: Call): ConfigUpdate {
  const options: Record<string, string> = {};
  for (const key of Object.keys(call.params)) {
    if (!NOT_OPTIONS.has(key)) options[key] = text(call, key) ?? "";
  }
  refuseRootOnly(call, "skiplock");
  if (options.sshkeys !== undefined) validateSshKeys(options.sshkeys);
  const deletions = splitList(text(call, "delete") ?? "").map((key) => (key === "cdrom" ? "ide2" : key));
  const reverts = splitList(text(call, "revert") ?? "");
  const given = [...deletions, ...reverts, ...Object.keys(options), ...call.valueless];
  if (given.length === 0) throw failure("no options specified");
  if (options.cdrom !== undefined) {
    if (options.ide2 !== undefined) throw badParameters({ cdrom: "option conflicts with ide2" });
    options.ide2 = `${options.cdrom},media=cdrom`;
    delete options.cdrom;
  }
  if (options.hookscript !== undefined) {
    const problem = hookscriptProblem(call.region, options.hookscript);
    if (problem !== null) throw badParameters({ hookscript: problem });
  }
  for (const key of reverts) {
    if (!isOption(key)) throw badParameters({ revert: `unknown option '${key}'` });
    if (options[key] !== undefined) {
      throw badParameters({ delete: `you can't use '-${key}' and -revert ${key}' at the same time` });
    }
  }
  for (const key of deletions) {
    if (options[key] !== undefined) {
      throw badParameters({ delete: `you can't use '-${key}' and -delete ${key}' at the same time` });
    }
    if (reverts.includes(key)) {
      throw badParameters({ revert: `you can't use '-delete ${key}' and -revert ${key}' at the same time` });
    }
    if (!isOption(key)) throw badParameters({ delete: `unknown option '${key}'` });
  }
  return {
    vmid: Number(required(call, "vmid")),
    options,
    deletions,
    reverts,
    force: flag(call, "force"),
    digest: text(call, "digest"),
  };
}

/** The VM, if its digest, its lock and its memory allow the change. */
export function loadForUpdate(call: Call, update: ConfigUpdate): VmDocument {
  const vm = vmOn(call.region, call.node, update.vmid);
  if (update.digest !== undefined && update.digest !== configDigest(vm)) {
    throw failure("checksum mismatch (file change by other user?)");
  }
  requireNoConfigLock(vm);
  const { memory, balloon } = update.options;
  if (memory !== undefined || balloon !== undefined) {
    const assigned = memory ?? vm.pending.memory ?? vm.config.memory ?? "512";
    const wanted = balloon ?? vm.pending.balloon ?? vm.config.balloon ?? "0";
    if (Number(wanted) > Number(assigned.replace(/^current=/, ""))) {
      throw failure("balloon value too large (must be smaller than assigned memory)");
    }
  }
  return vm;
}
