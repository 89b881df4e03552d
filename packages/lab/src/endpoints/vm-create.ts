import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import { seconds } from "../durations.ts";
import { requireQuorum, vmOn } from "../region.ts";
import { randomUuid } from "../runtime.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import type { DocumentChange } from "../store.ts";
import { startTask } from "../tasks/worker.ts";
import { cloudInitFiles, isWindows } from "../vm/cloud-init.ts";
import { storedDescription } from "../vm/config-file.ts";
import { requireNoConfigLock, withVmLock } from "../vm/config-lock.ts";
import { requireConfigPrivileges, requireCreatePrivileges, vmCheck } from "../vm/config-permissions.ts";
import { createDisks, requireStorageAccess } from "../vm/create-disks.ts";
import { cloudInitKey, isCdrom, parseDrive, printDrive } from "../vm/drives.ts";
import { normaliseNet, requireBridgeAccess } from "../vm/networks.ts";
import { bareVm } from "../vm/new-vm.ts";
import { cryptSalt, sha256Crypt } from "../vm/sha256-crypt.ts";
import { validateSshKeys } from "../vm/ssh-keys.ts";
import { normaliseTags } from "../vm/tags.ts";
import { startVm } from "./vm-power.ts";

const NOT_OPTIONS = new Set([
  "node",
  "vmid",
  "pool",
  "start",
  "archive",
  "storage",
  "force",
  "unique",
  "bwlimit",
  "live-restore",
  "import-working-storage",
  "ha-managed",
]);

function normaliseOptions(call: Call): Record<string, string> {
  const { region } = call;
  const options: Record<string, string> = {};
  for (const key of Object.keys(call.params)) {
    const value = text(call, key) ?? "";
    if (NOT_OPTIONS.has(key)) continue;
    if (/^net\d+$/.test(key)) options[key] = normaliseNet(region.runtime, value);
    else if (key === "tags") options[key] = normaliseTags(value);
    else if (key === "description") options[key] = storedDescription(value);
    else options[key] = value;
  }
  if (options.sshkeys !== undefined) validateSshKeys(options.sshkeys);
  const password = options.cipassword;
  if (password !== undefined && !isWindows(options) && !/^\$(?:[156]|2[ay])(\$.+){2}/.test(password)) {
    options.cipassword = sha256Crypt(
      password,
      cryptSalt(() => region.runtime.random()),
    );
  }
  return options;
}

function create(call: Call): string {
  const { region, node, authUser } = call;
  const vmid = Number(required(call, "vmid"));
  const pool = text(call, "pool");
  if (text(call, "archive") !== undefined) throw failure("the lab restores no archives");
  requireCreatePrivileges(region, authUser, vmid, pool);
  if (flag(call, "start")) vmCheck(region, authUser, vmid, pool)(["VM.PowerMgmt"]);
  const options = normaliseOptions(call);
  requireConfigPrivileges(region, authUser, vmCheck(region, authUser, vmid, pool), Object.keys(options));
  requireStorageAccess(region, authUser, vmid, options);
  requireBridgeAccess(region, authUser, options);
  requireQuorum(region);
  const existing = region.store.get("vm", String(vmid));
  if (existing !== undefined) {
    throw failure(`unable to create VM ${vmid} - VM ${vmid} already exists on node '${existing.node}'`);
  }
  const drives = Object.fromEntries(Object.entries(options).filter(([key]) => isDriveKey(key)));
  const plain = Object.fromEntries(Object.entries(options).filter(([key]) => !isDriveKey(key)));
  // The number is taken before the worker is forked.
  region.store.commit({ op: "create-started", node, vmid, user: authUser }, [
    ["vm", String(vmid), bareVm(region, node, vmid, { lock: "create" })],
  ]);
  const what = { node, type: "qmcreate", id: String(vmid), user: authUser };
  return startTask(region, what, async (worker) => {
    await withVmLock(region, node, vmid, async () => {
      try {
        await worker.stage("disks");
        const created = await createDisks(region, node, vmid, {}, drives, (s) => worker.wait(s));
        const config: Record<string, string> = {
          ...plain,
          ...created.options,
          smbios1: plain.smbios1 ?? `uuid=${randomUuid(region.runtime)}`,
          vmgenid: randomUuid(region.runtime),
        };
        const first = Object.keys(drives)
          .sort()
          .find((key) => !isCdrom(parseDrive(key, drives[key] ?? "")));
        config.boot ??= first === undefined ? "order=" : `order=${first}`;
        const vm = bareVm(region, node, vmid, config);
        const drive = cloudInitKey(config) === undefined ? null : cloudInitFiles(config, vmid);
        const document = pool === undefined ? undefined : region.store.get("pool", pool);
        worker.commit({ op: "vm-created", vmid, detail: { name: config.name ?? null } }, [
          ["vm", String(vmid), { ...vm, drive }],
          ...created.volumes.map((volume): DocumentChange => ["volume", volume.volid, volume]),
          ...(document === undefined
            ? []
            : ([
                ["pool", document.poolid, { ...document, vms: [...document.vms, vmid] }],
              ] as DocumentChange[])),
        ]);
      } catch (error) {
        worker.commit({ op: "create-rolled-back", vmid }, [["vm", String(vmid), null]]);
        throw new Error(
          `unable to create VM ${vmid} - ${error instanceof Error ? error.message.trimEnd() : error}`,
        );
      }
      if (flag(call, "start")) await startVm(region, worker, node, vmid);
    });
  });
}

function template(call: Call): string {
  const { region, node } = call;
  const vmid = Number(required(call, "vmid"));
  const disk = text(call, "disk");
  const check = (): void => {
    const vm = vmOn(region, node, vmid);
    requireNoConfigLock(vm);
    if (vm.config.template === "1" && disk === undefined) {
      throw failure("you can't convert a template to a template");
    }
    if (vm.process !== null) throw failure("you can't convert a VM to template if VM is running");
    if (disk !== undefined && vm.config[disk] === undefined)
      throw badParameters({ disk: "disk does not exist" });
  };
  check();
  return startTask(
    region,
    { node, type: "qmtemplate", id: String(vmid), user: call.authUser },
    async (worker) => {
      await withVmLock(region, node, vmid, async () => {
        check();
        const vm = vmOn(region, node, vmid);
        await worker.wait(seconds.template);
        const config: Record<string, string> = { ...vm.config, template: "1" };
        const changes: DocumentChange[] = [];
        for (const [key, value] of Object.entries(vm.config)) {
          if (!isDriveKey(key)) continue;
          const drive = parseDrive(key, value);
          const volume = region.store.get("volume", drive.file);
          if (isCdrom(drive) || volume === undefined || volume.vmid !== vmid) continue;
          const name = volume.name.replace(/(^|\/)vm-/, "$1base-");
          const volid = `${volume.storage}:${name}`;
          changes.push(["volume", volume.volid, null], ["volume", volid, { ...volume, volid, name }]);
          config[key] = printDrive(key, { ...drive, file: volid });
        }
        worker.commit({ op: "vm-converted-to-template", vmid }, [
          ["vm", String(vmid), { ...vm, config }],
          ...changes,
        ]);
      });
    },
  );
}

export const vmCreateHandlers: Handlers = {
  "POST /nodes/{node}/qemu": create,
  "POST /nodes/{node}/qemu/{vmid}/template": template,
};
