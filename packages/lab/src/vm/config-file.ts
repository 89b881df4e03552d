import { createHash } from "node:crypto";
import type { VmDocument } from "../documents.ts";
import { configOptions } from "../schema/api-schema.ts";

const TEMPORARY = "# qmclone temporary file\nlock: clone\n";

/** Control characters, the colon and everything beyond ASCII are percent-encoded in comment lines. */
function encodeLine(line: string): string {
  return Array.from(Buffer.from(line), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== 0x3a
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

/**
 * A description as it is returned: without trailing white space, and with the caller's percent sequences
 * decoded, because only the reader unescapes them.
 */
export function storedDescription(text: string): string {
  const lines = text.split("\n").map((line) => {
    const bytes: number[] = [];
    const encoded = encodeLine(line);
    for (let index = 0; index < encoded.length; index++) {
      const hex = /^%([0-9A-Fa-f]{2})/.exec(encoded.slice(index, index + 3))?.[1];
      if (hex === undefined) {
        bytes.push(encoded.charCodeAt(index));
      } else {
        bytes.push(Number.parseInt(hex, 16));
        index += 2;
      }
    }
    return Buffer.from(bytes).toString("utf8");
  });
  return lines.join("\n").trimEnd();
}

function section(values: Readonly<Record<string, string>>): string {
  const { description, ...rest } = values;
  const comment =
    description === undefined || description === ""
      ? ""
      : description
          .split("\n")
          .map((line) => `#${encodeLine(line)}\n`)
          .join("");
  const lines = Object.keys(rest)
    .sort()
    .map((key) => `${key}: ${rest[key]}\n`);
  return comment + lines.join("");
}

/** The text of /etc/pve/nodes/N/qemu-server/ID.conf. */
export function renderConfig(vm: VmDocument): string {
  if (vm.temporary) return TEMPORARY;
  let text = section(vm.config);
  const deletions = Object.keys(vm.pendingDelete).sort();
  const pending = {
    ...vm.pending,
    ...(deletions.length > 0
      ? { delete: deletions.map((key) => (vm.pendingDelete[key] ? `!${key}` : key)).join(",") }
      : {}),
  };
  if (Object.keys(pending).length > 0) text += `\n[PENDING]\n${section(pending)}`;
  if (Object.keys(vm.cloudInitChanges).length > 0)
    text += `\n[special:cloudinit]\n${section(vm.cloudInitChanges)}`;
  return text;
}

const digests = new WeakMap<VmDocument, string>();

/** SHA-1 of the file: any writer changes it. */
export function configDigest(vm: VmDocument): string {
  // Documents are replaced and never changed, so a cached digest is valid as long as its document exists.
  const digest = digests.get(vm) ?? createHash("sha1").update(renderConfig(vm)).digest("hex");
  digests.set(vm, digest);
  return digest;
}

/** A value as JSON shows it: integers and booleans are numbers, everything else text. */
export function typedValue(key: string, value: string): string | number {
  const type = key === "template" ? "boolean" : configOptions[key]?.type;
  return type === "integer" || type === "boolean" || type === "number" ? Number(value) : value;
}

export const PASSWORD_MASK = "**********";

/** The body of GET config: pending values merged in unless `current` is requested. */
export function configView(vm: VmDocument, current: boolean): Record<string, string | number> {
  const digest = configDigest(vm);
  if (vm.temporary) return { description: " qmclone temporary file", lock: "clone", digest };
  const merged: Record<string, string> = { ...vm.config };
  if (!current) {
    Object.assign(merged, vm.pending);
    for (const key of Object.keys(vm.pendingDelete)) delete merged[key];
  }
  const view: Record<string, string | number> = {};
  for (const [key, value] of Object.entries(merged)) view[key] = typedValue(key, value);
  if (merged.cipassword !== undefined) view.cipassword = PASSWORD_MASK;
  view.digest = digest;
  return view;
}
