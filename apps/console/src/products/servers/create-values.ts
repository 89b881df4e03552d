import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedLabels } from "../../label-form.ts";

type Catalog = Schemas["Catalog"];
type Image = Schemas["Image"];

/** The create form as a person filled it in: text as typed, not validated. */
export type CreateForm = {
  readonly name: string;
  readonly region: string;
  readonly image: string;
  readonly package: string;
  readonly sshKeyIds: readonly string[];
  /** Empty: the default network. */
  readonly subnetId: string;
  readonly privateIp: string;
  /** Empty for none, `auto` for any that is allocated to the organisation, or the id of one that it has reserved. */
  readonly publicIp: string;
  /** Attached to the server itself from its first start. */
  readonly firewallIds: readonly string[];
  readonly start: boolean;
  readonly protect: boolean;
  readonly protectRebuild: boolean;
  /** As typed: `env=prod, role=web`. */
  readonly labels: string;
  readonly newKeyName: string;
  readonly newKeyText: string;
  readonly idempotencyKey: string;
};

export type CreateServerBody = RequestBody<"createServer">;

/** Reads the posted fields. A checkbox that is not sent is off. */
export function readCreateForm(fields: URLSearchParams): CreateForm {
  const text = (name: string) => (fields.get(name) ?? "").trim();
  return {
    name: text("name"),
    region: text("region"),
    image: text("image"),
    package: text("package"),
    sshKeyIds: [...new Set(fields.getAll("ssh_key_ids").filter((id) => id !== ""))],
    subnetId: text("subnet_id"),
    privateIp: text("private_ip"),
    publicIp: text("public_ip"),
    firewallIds: [...new Set(fields.getAll("firewall_ids").filter((id) => id !== ""))],
    start: fields.has("start"),
    protect: fields.has("protect"),
    protectRebuild: fields.has("protect_rebuild"),
    labels: text("labels"),
    newKeyName: text("new_key_name"),
    newKeyText: text("new_key_text"),
    idempotencyKey: text("idempotency_key"),
  };
}

/** The defaults of a fresh form: the first reachable region, its first Linux image, the smallest suitable package. */
export function freshCreateForm(catalog: Catalog, idempotencyKey: string): CreateForm {
  return fitted(catalog, {
    name: "",
    region: "",
    image: "",
    package: "",
    sshKeyIds: [],
    subnetId: "",
    privateIp: "",
    publicIp: "",
    firewallIds: [],
    start: true,
    protect: false,
    protectRebuild: false,
    labels: "",
    newKeyName: "",
    newKeyText: "",
    idempotencyKey,
  });
}

/**
 * The form while a person chooses: an empty region, image or package becomes the first available one, an image that
 * the region lacks becomes one that it has, a package that is too small the smallest suitable one. Applied only
 * before the form is sent: sent values are never changed.
 */
export function fitted(catalog: Catalog, form: CreateForm): CreateForm {
  const region =
    form.region || (catalog.regions.find(({ status }) => status === "ok") ?? catalog.regions[0])?.slug || "";
  const here = catalog.images.filter((image) => image.regions.includes(region));
  const image =
    here.find(({ slug }) => slug === form.image) ??
    here.find(({ os_family }) => os_family === "linux") ??
    here[0];
  const fitting = catalog.packages.filter(({ slug }) => image?.packages_allowed.includes(slug));
  const size = fitting.find(({ slug }) => slug === form.package) ?? fitting[0];
  return { ...form, region, image: image?.slug ?? "", package: size?.slug ?? "" };
}

type InRegion = { readonly id: string; readonly region: string };

/**
 * The form while a person chooses, without the firewalls and the address of a region that is no longer the chosen one.
 */
export function withChoicesOfRegion(
  form: CreateForm,
  choices: { readonly firewalls: readonly InRegion[]; readonly publicIps: readonly InRegion[] },
): CreateForm {
  const elsewhere = [...choices.firewalls, ...choices.publicIps]
    .filter(({ region }) => region !== form.region)
    .map(({ id }) => id);
  return {
    ...form,
    firewallIds: form.firewallIds.filter((id) => !elsewhere.includes(id)),
    publicIp: elsewhere.includes(form.publicIp) ? "" : form.publicIp,
  };
}

/** The form while a person chooses, without the subnet of a region that is no longer the chosen one. */
export function withSubnetOfRegion(
  form: CreateForm,
  networks: readonly { readonly region: string; readonly subnets: readonly { readonly id: string }[] }[],
): CreateForm {
  const isElsewhere = networks.some(
    ({ region, subnets }) => region !== form.region && subnets.some(({ id }) => id === form.subnetId),
  );
  return isElsewhere ? { ...form, subnetId: "" } : form;
}

export type PackageOffer = {
  readonly package: Schemas["Package"];
  /** The image that requires more than this package has; null when the package can be chosen. */
  readonly tooSmallFor: Image | null;
  /** The smallest package that the image can run on; null without one. */
  readonly smallest: string | null;
};

/** Every package, and whether the chosen image runs on it. */
export function packageOffers(catalog: Catalog, form: CreateForm): readonly PackageOffer[] {
  const image = catalog.images.find(({ slug }) => slug === form.image);
  const smallest =
    catalog.packages.find(({ slug }) => image?.packages_allowed.includes(slug) === true)?.slug ?? null;
  return catalog.packages.map((offered) => ({
    package: offered,
    smallest,
    tooSmallFor: image === undefined || image.packages_allowed.includes(offered.slug) ? null : image,
  }));
}

export type ImageOffer = { readonly image: Image; readonly here: boolean };

/** Every image, and whether the chosen region has it. */
export function imageOffers(catalog: Catalog, form: CreateForm): readonly ImageOffer[] {
  return catalog.images.map((image) => ({ image, here: image.regions.includes(form.region) }));
}

/** Whether the chosen image takes SSH keys. */
export function takesSshKeys(catalog: Catalog, form: CreateForm): boolean {
  return catalog.images.find(({ slug }) => slug === form.image)?.os_family !== "windows";
}

/** The body of `POST /servers` for this form. Defaults are omitted. */
export function toCreateBody(catalog: Catalog, form: CreateForm): CreateServerBody {
  const keys = takesSshKeys(catalog, form) ? form.sshKeyIds : [];
  return {
    name: form.name,
    region: form.region,
    image: form.image,
    package: form.package,
    ...(keys.length > 0 ? { ssh_key_ids: [...keys] } : {}),
    ...(form.subnetId !== "" ? { subnet_id: form.subnetId } : {}),
    ...(form.privateIp !== "" ? { private_ip: form.privateIp } : {}),
    ...(form.publicIp !== "" ? { public_ip: form.publicIp } : {}),
    ...(form.firewallIds.length > 0 ? { firewall_ids: [...form.firewallIds] } : {}),
    ...typedLabels(form.labels),
    start: form.start,
    ...(form.protect || form.protectRebuild ? { protection: protectionOf(form) } : {}),
  };
}

const protectionOf = ({ protect, protectRebuild }: CreateForm) => ({
  ...(protect ? { delete: true } : {}),
  ...(protectRebuild ? { rebuild: true } : {}),
});

const fields = [
  "name",
  "region",
  "image",
  "package",
  "ssh_key_ids",
  "subnet_id",
  "private_ip",
  "public_ip",
  "firewall_ids",
  "labels",
  "start",
] as const;

/** The form's field for a pointer into the body: `/ssh_key_ids/1` is `ssh_key_ids`. */
export function createFieldOf(pointer: string): string | null {
  const name = pointer.split("/")[1];
  if (name === "protection") return "protect";
  return fields.find((field) => field === name) ?? null;
}
