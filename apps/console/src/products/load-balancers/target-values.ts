import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

/** What a target can be. */
export const targetKinds = ["server", "labels", "address"] as const;
export type TargetKind = (typeof targetKinds)[number];

export const targetFields = [
  "kind",
  "server_id",
  "label_selector",
  "address",
  "weight",
  "backup",
  "drain",
] as const;
export type TargetValues = Readonly<Record<(typeof targetFields)[number], string>>;

export const newTarget: TargetValues = {
  kind: "server",
  server_id: "",
  label_selector: "",
  address: "",
  weight: "1",
  backup: "",
  drain: "",
};

export function kindOf({
  server_id,
  label_selector,
}: Pick<Schemas["Target"], "server_id" | "label_selector">): TargetKind {
  return server_id !== null ? "server" : label_selector !== null ? "labels" : "address";
}

export const valuesOfTarget = (target: Schemas["Target"]): TargetValues => ({
  kind: kindOf(target),
  server_id: target.server_id ?? "",
  label_selector: target.label_selector ?? "",
  address: target.address ?? "",
  weight: String(target.weight),
  backup: target.backup ? "on" : "",
  drain: target.drain ? "on" : "",
});

/** What can be changed of a target. */
export const targetChange = ({ weight, backup, drain }: TargetValues): RequestBody<"updateTarget"> => ({
  weight: typedNumber(weight),
  backup: backup !== "",
  drain: drain !== "",
});

/** A new target, of the chosen kind whatever was typed for another one. */
export function targetBody(values: TargetValues): RequestBody<"createTarget"> {
  const { kind, server_id, label_selector, address } = values;
  const what = kind === "labels" ? { label_selector } : kind === "address" ? { address } : { server_id };
  return { ...what, ...targetChange(values) };
}
