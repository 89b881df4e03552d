import { isDeepStrictEqual } from "node:util";
import { type ParseOptions, parseAllDocuments, type SchemaOptions } from "yaml";
import type { Guest } from "./guest-world.ts";

const versions = ["1.1", "1.2"] as const;

/** Compares what a guest's cloud-init reads, by both versions of YAML, with what was meant. */
export function cloudInitViolations({ vm, server, organisation, payload, keys }: Guest): string[] {
  const { drive } = vm;
  if (drive === null) return [`${server.name} has no cloud-init drive`];
  const user = {
    hostname: server.name,
    manage_etc_hosts: true,
    fqdn: `${server.name}.${organisation.slug}.internal`,
    user: payload.default_user,
    ...(payload.password_hash === null ? {} : { password: payload.password_hash }),
    ...(keys.length === 0 ? {} : { ssh_authorized_keys: keys }),
    chpasswd: { expire: false },
    users: ["default"],
  };
  const network = {
    version: 1,
    config: [
      ...payload.interfaces.map((nic, index) => ({
        type: "physical",
        name: `eth${index}`,
        mac_address: nic.mac.toLowerCase(),
        subnets: [
          {
            type: "static",
            address: nic.address,
            netmask: netmaskOf(nic.prefix_length),
            ...(nic.gateway === null ? {} : { gateway: nic.gateway }),
          },
        ],
      })),
      {
        type: "nameserver",
        address: payload.interfaces.flatMap((nic) => nic.dns_servers),
        search: [`${organisation.slug}.internal`],
      },
    ],
  };
  const violations = [
    ...differences("user-data", drive.user, user),
    ...differences("network-config", drive.network, network),
  ];
  if (!drive.user.startsWith("#cloud-config\n")) violations.push("the user-data is no cloud-config");
  if (!/^instance-id: [0-9a-f]{40}\n$/.test(drive.meta))
    violations.push("the meta-data is more than an instance id");
  return violations;
}

function netmaskOf(prefix: number): string {
  const bits = (0xffffffff << (32 - prefix)) >>> 0;
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}

/** Where a reader of either version of YAML would read the text differently. */
export function differences(what: string, text: string, meant: unknown): string[] {
  return versions.flatMap((version) => {
    const options: ParseOptions & SchemaOptions & { version: "1.1" | "1.2" } = { version, uniqueKeys: true };
    const documents = parseAllDocuments(text, options);
    if (!Array.isArray(documents) || documents.length !== 1)
      return [
        `the ${what} is ${Array.isArray(documents) ? documents.length : 0} documents in YAML ${version}`,
      ];
    const [document] = documents;
    const [error] = document?.errors ?? [];
    if (error !== undefined) return [`the ${what} is no YAML ${version}: ${error.message.split("\n")[0]}`];
    const read: unknown = document?.toJS();
    if (isDeepStrictEqual(read, meant)) return [];
    return [`the ${what} says in YAML ${version} ${JSON.stringify(read)} and not ${JSON.stringify(meant)}`];
  });
}
