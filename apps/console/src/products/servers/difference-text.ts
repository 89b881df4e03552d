import type { View } from "../../layout/view.ts";

type Difference = { readonly field: string; readonly wanted: string | null; readonly seen: string | null };

/**
 * What differs at a server's VM, as sentences for its organisation: figures with their units. Fields that only the
 * hypervisor has are one sentence without their names.
 */
export function differenceTexts(view: View, differences: readonly Difference[]): readonly string[] {
  const { inventory } = view.messages;
  return [...new Set(differences.map((each) => knownText(view, each) ?? inventory.otherDifference))];
}

function knownText(view: View, { field, wanted, seen }: Difference): string | null {
  const { common, inventory, usage } = view.messages;
  const { format } = view;
  const say = (label: string, amount: (value: string) => string) =>
    `${label}: ${inventory.difference(wanted === null ? "–" : amount(wanted), seen === null ? "–" : amount(seen))}`;
  const figure = (write: (value: number) => string) => (value: string) =>
    Number.isFinite(Number(value)) ? write(Number(value)) : value;
  const { fields } = inventory;
  const names = usage.quotaNames;
  if (field === "vcpu") return say(names.vcpu, figure(format.number));
  if (field === "memory_mb") return say(names.memory_mb, figure(format.memory));
  if (field === "disk_gb") return say(names.disk_gb, figure(format.disk));
  if (field === "name") return say(common.name, String);
  if (field === "power") return fields.power;
  return field.startsWith("interface ") ? fields.network : null;
}
