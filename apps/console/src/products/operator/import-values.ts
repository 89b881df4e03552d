import type { RequestBody } from "@kule/contract/schemas";
import { typedLabels } from "../../label-form.ts";
import { typedNumber } from "../../posted-form.ts";

/** The import form as it was typed. */
export type ImportForm = {
  readonly region: string;
  /** The number of a VM of the list, or `other`. */
  readonly vmid: string;
  readonly otherVmid: string;
  readonly organisationId: string;
  readonly subnetId: string;
  readonly privateIp: string;
  readonly name: string;
  readonly image: string;
  readonly package: string;
  /** As typed: `env=prod, role=web`. */
  readonly labels: string;
  readonly idempotencyKey: string;
};

export const otherVm = "other";

export function readImportForm(fields: URLSearchParams): ImportForm {
  const text = (name: string) => (fields.get(name) ?? "").trim();
  return {
    region: text("region"),
    vmid: text("vmid"),
    otherVmid: text("other_vmid"),
    organisationId: text("organisation_id"),
    subnetId: text("subnet_id"),
    privateIp: text("private_ip"),
    name: text("name"),
    image: text("image"),
    package: text("package"),
    labels: text("labels"),
    idempotencyKey: text("idempotency_key"),
  };
}

/** The chosen or typed number; empty when there is none. */
export function chosenVmid(form: ImportForm): string {
  return form.vmid === otherVm || form.vmid === "" ? form.otherVmid : form.vmid;
}

export function toImportBody(form: ImportForm): RequestBody<"importServer"> {
  return {
    name: form.name,
    region: form.region,
    vmid: typedNumber(chosenVmid(form)),
    image: form.image,
    package: form.package,
    subnet_id: form.subnetId,
    ...(form.privateIp === "" ? {} : { private_ip: form.privateIp }),
    ...typedLabels(form.labels),
  };
}

/** Derives a server's name from a VM's: Kule's names are host names without a domain. */
export function nameFrom(vmName: string): string {
  const name = (vmName.split(".")[0] ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
  return /[a-z]/.test(name) ? name : "";
}
