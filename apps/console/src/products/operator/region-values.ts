import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

/** The typed fields of a region. */
export const regionFields = [
  "slug",
  "name",
  "country",
  "mode",
  "vmid_first",
  "vmid_last",
  "vlan_first",
  "vlan_last",
] as const;

export type RegionValues = Readonly<Record<(typeof regionFields)[number], string>>;

/** The field beside which a refusal is shown: a range is one value with two ends. */
export const regionErrorFields = {
  fields: ["slug", "name", "country", "mode", "vmid_range", "vlan_range", "restricted_to"],
  conflicts: { name_taken: "slug" },
} as const;

/** A common default: ten thousand numbers, above those that people usually assign by hand. */
export const defaultRegionValues: RegionValues = {
  slug: "",
  name: "",
  country: "",
  mode: "agent",
  vmid_first: "20000",
  vmid_last: "29999",
  vlan_first: "100",
  vlan_last: "999",
};

export function valuesOf(region: Schemas["Region"]): RegionValues {
  return {
    slug: region.slug,
    name: region.name,
    country: region.country ?? "",
    mode: region.mode,
    vmid_first: String(region.vmid_range.first),
    vmid_last: String(region.vmid_range.last),
    vlan_first: String(region.vlan_range.first),
    vlan_last: String(region.vlan_range.last),
  };
}

const ranges = (values: RegionValues) => ({
  vmid_range: { first: typedNumber(values.vmid_first), last: typedNumber(values.vmid_last) },
  vlan_range: { first: typedNumber(values.vlan_first), last: typedNumber(values.vlan_last) },
});

/** @param restrictedTo the checked organisations; none means all of them */
export function toCreateBody(
  values: RegionValues,
  restrictedTo: readonly string[],
): RequestBody<"createRegion"> {
  return {
    slug: values.slug,
    name: values.name,
    mode: values.mode === "direct" ? "direct" : "agent",
    ...(values.country === "" ? {} : { country: values.country.toUpperCase() }),
    ...(restrictedTo.length === 0 ? {} : { restricted_to: [...restrictedTo] }),
    ...ranges(values),
  };
}

/** @param restrictedTo the checked organisations; none means all of them */
export function toUpdateBody(
  values: RegionValues,
  restrictedTo: readonly string[],
): RequestBody<"updateRegion"> {
  return {
    name: values.name,
    country: values.country === "" ? null : values.country.toUpperCase(),
    restricted_to: restrictedTo.length === 0 ? null : [...restrictedTo],
    ...ranges(values),
  };
}
