import type { CloudInitDrive, VmDocument, VolumeDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import type { DocumentChange } from "../store.ts";
import { referencedVolumes } from "./drives.ts";

/** A VM's configuration while one call works on it; committed in one piece. */
export interface ConfigDraft {
  readonly vm: VmDocument;
  readonly config: Record<string, string>;
  readonly pending: Record<string, string>;
  readonly pendingDelete: Record<string, boolean>;
  cloudInitChanges: Record<string, string>;
  drive: CloudInitDrive | null;
  readonly allocated: VolumeDocument[];
  readonly freed: string[];
}

export function openDraft(vm: VmDocument): ConfigDraft {
  return {
    vm,
    config: { ...vm.config },
    pending: { ...vm.pending },
    pendingDelete: { ...vm.pendingDelete },
    cloudInitChanges: { ...vm.cloudInitChanges },
    drive: vm.drive,
    allocated: [],
    freed: [],
  };
}

/** A volume as it will be once the draft is committed. */
export function draftVolume(region: Region, draft: ConfigDraft, volid: string): VolumeDocument | undefined {
  return draft.allocated.find((volume) => volume.volid === volid) ?? region.store.get("volume", volid);
}

/** Pending entries without an effect are dropped. */
export function cleanUpPending(draft: ConfigDraft): void {
  for (const [key, value] of Object.entries(draft.pending)) {
    if (draft.config[key] === value) delete draft.pending[key];
  }
  for (const key of Object.keys(draft.pendingDelete)) {
    if (draft.config[key] === undefined) delete draft.pendingDelete[key];
  }
}

/** The changes to commit. An unusedN that is in use again disappears. */
export function draftChanges(draft: ConfigDraft): DocumentChange[] {
  const { vm, config } = draft;
  const inUse = new Set(
    referencedVolumes(
      Object.fromEntries(Object.entries(config).filter(([key]) => !key.startsWith("unused"))),
    ),
  );
  for (const key of Object.keys(config)) {
    if (/^unused\d+$/.test(key) && inUse.has(config[key] ?? "")) delete config[key];
  }
  return [
    [
      "vm",
      String(vm.vmid),
      {
        ...vm,
        config,
        pending: draft.pending,
        pendingDelete: draft.pendingDelete,
        cloudInitChanges: draft.cloudInitChanges,
        drive: draft.drive,
      },
    ],
    ...draft.allocated.map((volume): DocumentChange => ["volume", volume.volid, volume]),
    ...draft.freed.map((volid): DocumentChange => ["volume", volid, null]),
  ];
}
