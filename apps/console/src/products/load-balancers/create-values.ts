import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedLabels } from "../../label-form.ts";
import { typedList, typedNumber } from "../../posted-form.ts";

export const algorithms = ["round_robin", "least_connections", "source_hash"] as const;

const texts = [
  "name",
  "subnet_id",
  "package",
  "algorithm",
  "public_ip",
  "protocol",
  "port",
  "target_port",
  "certificate_ids",
  "label_selector",
  "addresses",
  "description",
  "labels",
] as const;

/** The create form as a person filled it in: text as typed, not validated. */
export type CreateForm = Readonly<Record<(typeof texts)[number], string>> & {
  readonly ha: boolean;
  readonly serverIds: readonly string[];
};

type Network = Pick<Schemas["Network"], "id" | "region"> & {
  readonly subnets: readonly Pick<Schemas["Network"]["subnets"][number], "id" | "tier">[];
};

/** Reads the posted fields. A checkbox that is not sent is off. */
export function readCreateForm(fields: URLSearchParams): CreateForm {
  const values = Object.fromEntries(texts.map((name) => [name, (fields.get(name) ?? "").trim()]));
  return {
    ...(values as Record<(typeof texts)[number], string>),
    // Each is a box.
    certificate_ids: fields.getAll("certificate_ids").join(" "),
    ha: fields.has("ha"),
    serverIds: [...new Set(fields.getAll("server_ids").filter((id) => id !== ""))],
  };
}

/** A fresh form: the first subnet for servers, the smallest package, and a listener for websites. */
export const freshCreateForm: CreateForm = {
  ...readCreateForm(new URLSearchParams()),
  algorithm: "round_robin",
  protocol: "http",
  port: "80",
};

/**
 * The form while a person chooses: an empty subnet or package becomes the first one, and addresses and certificates of
 * another region are left out. Applied only before the form is sent: sent values are never changed.
 */
export function fitted(
  form: CreateForm,
  choices: {
    readonly networks: readonly Network[];
    readonly packages: readonly { readonly slug: string }[];
    readonly publicIps: readonly { readonly id: string; readonly region: string }[];
    readonly certificates: readonly { readonly id: string; readonly region: string }[];
  },
): CreateForm {
  const subnets = choices.networks.flatMap(({ subnets }) => subnets);
  const subnet =
    subnets.find(({ id }) => id === form.subnet_id) ??
    subnets.find(({ tier }) => tier === "app") ??
    subnets[0];
  const chosen = choices.packages.find(({ slug }) => slug === form.package) ?? choices.packages[0];
  const region = networkOf(subnet?.id ?? "", choices.networks)?.region;
  const isElsewhere = choices.publicIps.some((ip) => ip.id === form.public_ip && ip.region !== region);
  return {
    ...form,
    subnet_id: subnet?.id ?? "",
    package: chosen?.slug ?? "",
    public_ip: isElsewhere ? "" : form.public_ip,
    certificate_ids: typedList(form.certificate_ids)
      .filter((id) => !choices.certificates.some((each) => each.id === id && each.region !== region))
      .join(" "),
  };
}

/** The network that the subnet is in. */
export function networkOf<Of extends Network>(subnetId: string, networks: readonly Of[]): Of | undefined {
  return networks.find(({ subnets }) => subnets.some(({ id }) => id === subnetId));
}

/** The body of `POST /load-balancers` for this form. Defaults are left out. */
export function createBody(form: CreateForm): RequestBody<"createLoadBalancer"> {
  const { description, algorithm, public_ip } = form;
  const listeners = listenersOf(form);
  const targets = targetsOf(form);
  return {
    name: form.name,
    subnet_id: form.subnet_id,
    ...(form.package === "" ? {} : { package: form.package }),
    ...(form.ha ? { ha: true } : {}),
    ...(algorithm === "" ? {} : { algorithm: algorithm as "round_robin" }),
    ...(public_ip === "" ? {} : { public_ip }),
    ...(listeners.length === 0 ? {} : { listeners }),
    ...(targets.length === 0 ? {} : { targets }),
    ...(description === "" ? {} : { description }),
    ...typedLabels(form.labels),
  };
}

/** None without a port: listeners can be added later. */
function listenersOf(form: CreateForm): RequestBody<"createListener">[] {
  const { protocol, port, target_port } = form;
  if (port === "") return [];
  return [
    {
      protocol,
      port: typedNumber(port),
      ...(target_port === "" ? {} : { target_port: typedNumber(target_port) }),
      ...(protocol === "https" ? { certificate_ids: typedList(form.certificate_ids) } : {}),
    },
  ];
}

function targetsOf(form: CreateForm): RequestBody<"createTarget">[] {
  return [
    ...(form.label_selector === "" ? [] : [{ label_selector: form.label_selector }]),
    ...form.serverIds.map((server_id) => ({ server_id })),
    ...typedList(form.addresses).map((address) => ({ address })),
  ];
}

const listenerFields = ["protocol", "port", "target_port", "certificate_ids"] as const;

/** The form's field for a pointer into the body. */
export function createFieldOf(form: CreateForm, pointer: string): string | null {
  const [, name = "", at, property] = pointer.split("/");
  if (name === "listeners") return listenerFields.find((field) => field === property) ?? "port";
  if (name === "targets") {
    const target = targetsOf(form)[Number(at)];
    if (target === undefined) return null;
    return "label_selector" in target ? "label_selector" : "server_id" in target ? "server_ids" : "addresses";
  }
  return name === "ha" ? "ha" : (texts.find((field) => field === name) ?? null);
}
