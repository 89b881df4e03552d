import { configOptions, schemaFormats } from "./api-schema.ts";
import type { PropertyFormat } from "./property-schema.ts";

const optionalText = { type: "string", optional: 1 } as const;
const optionalFlag = { type: "boolean", optional: 1 } as const;
const BASE64 = "[A-Za-z0-9+\\/]+={0,2}";
const base64Text = { type: "string", pattern: BASE64, optional: 1 } as const;

/** Property strings that the API schema names without spelling them out. */
const named: Record<string, PropertyFormat> = {
  "pve-qm-boot": {
    legacy: { optional: 1, default_key: 1, type: "string", pattern: "[acdn]{1,4}" },
    order: { optional: 1, type: "string", format: "pve-qm-bootdev-list" },
  },
  "pve-qm-ipconfig": {
    ip: { type: "string", format: "pve-ipv4-config", optional: 1 },
    gw: { type: "string", format: "ipv4", optional: 1, requires: "ip" },
    ip6: { type: "string", format: "pve-ipv6-config", optional: 1 },
    gw6: { type: "string", format: "ipv6", optional: 1, requires: "ip6" },
  },
  "pve-qm-cicustom": {
    meta: { ...optionalText, format: "pve-volume-id" },
    network: { ...optionalText, format: "pve-volume-id" },
    user: { ...optionalText, format: "pve-volume-id" },
    vendor: { ...optionalText, format: "pve-volume-id" },
  },
  "pve-qm-smbios1": {
    uuid: {
      type: "string",
      pattern: "[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}",
      optional: 1,
    },
    version: base64Text,
    serial: base64Text,
    manufacturer: base64Text,
    product: base64Text,
    sku: base64Text,
    family: base64Text,
    base64: optionalFlag,
  },
  "pve-qm-watchdog": {
    model: { default_key: 1, type: "string", enum: ["i6300esb", "ib700"], optional: 1 },
    action: {
      type: "string",
      enum: ["reset", "shutdown", "poweroff", "pause", "debug", "none"],
      optional: 1,
    },
  },
  "pve-qm-rng": {
    source: { type: "string", enum: ["/dev/urandom", "/dev/random", "/dev/hwrng"], default_key: 1 },
    max_bytes: { type: "integer", optional: 1 },
    period: { type: "integer", optional: 1 },
  },
  "pve-vm-cpu-conf": {
    cputype: { type: "string", format: "string", default_key: 1, optional: 1 },
    "reported-model": optionalText,
    hidden: optionalFlag,
    "hv-vendor-id": { ...optionalText, pattern: "[a-zA-Z0-9]{1,12}" },
    flags: { ...optionalText, pattern: "(?:[+-][a-zA-Z0-9\\-_.]+;?)+" },
    "guest-phys-bits": { type: "integer", minimum: 32, maximum: 64, optional: 1 },
    "phys-bits": optionalText,
    level: { type: "integer", minimum: 1, maximum: 255, optional: 1 },
  },
  "pve-qm-hostpci": {
    host: { ...optionalText, default_key: 1 },
    mapping: { ...optionalText, format: "pve-configid" },
    "device-id": optionalText,
    "legacy-igd": optionalFlag,
    mdev: optionalText,
    pcie: optionalFlag,
    rombar: optionalFlag,
    romfile: optionalText,
    "sub-device-id": optionalText,
    "sub-vendor-id": optionalText,
    "vendor-id": optionalText,
    "x-vga": optionalFlag,
  },
  "pve-qemu-sev-fmt": {
    type: { type: "string", default_key: 1 },
    "allow-smt": optionalFlag,
    "kernel-hashes": optionalFlag,
    "no-debug": optionalFlag,
    "no-key-sharing": optionalFlag,
  },
  "pve-qemu-tdx-fmt": {
    type: { type: "string", default_key: 1 },
    attestation: optionalFlag,
    "vsock-cid": { type: "integer", optional: 1 },
    "vsock-port": { type: "integer", optional: 1 },
  },
};

/** Finds a property-string format by name: "#n" of the reduced schema, or a well-known one. */
export function namedPropertyFormat(name: string): PropertyFormat {
  const format = propertyFormat(name);
  if (format === undefined) throw new Error(`unknown property string format '${name}'`);
  return format;
}

/** As {@link namedPropertyFormat}, or undefined when `name` is a plain format. */
export function propertyFormat(name: string): PropertyFormat | undefined {
  if (name === "pve-qm-ide") return schemaFormats[configOptions.ide2?.format ?? ""];
  return name.startsWith("#") ? schemaFormats[name] : named[name];
}
