import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";

type Measured = {
  readonly kind: Schemas["UsageSegmentKind"] | Schemas["UsageKind"];
  readonly package: string | null;
  readonly quantity: Schemas["UsageQuantity"];
};

/** The size of a resource that was held, or whose use began or ended: `S · 2 vCPU · 4 GB`. */
export function amountOf({ messages, format }: View, { kind, package: size, quantity }: Measured): string {
  const { vcpu, memory_mb, disk_gb, requests, bytes_in, bytes_out } = quantity;
  const hasPackage = kind === "compute" || kind.startsWith("server.");
  const parts = [
    hasPackage && size !== null ? size.toUpperCase() : null,
    vcpu === undefined ? null : messages.create.vcpu(format.number(vcpu)),
    memory_mb === undefined ? null : format.memory(memory_mb),
    disk_gb === undefined ? null : format.disk(disk_gb),
    requests === undefined ? null : messages.segments.requests(format.number(requests)),
    bytes_in === undefined || bytes_out === undefined ? null : format.bytes(bytes_in + bytes_out),
  ].filter((part) => part !== null);
  return parts.length === 0 ? "–" : parts.join(" · ");
}
