import fc from "fast-check";
import type { RowRun } from "../row.ts";
import { contractFields, type FieldSchema } from "./contract-fields.ts";
import { refusal } from "./hypervisor-parameter.ts";
import { ParameterWorld, type Rule } from "./parameter-world.ts";
import { reaching } from "./reaching-fields.ts";
import { staying } from "./staying-fields.ts";

export type Comparison = {
  readonly cases: number;
  readonly violations: readonly string[];
  readonly reachingFields: number;
};

/** How many values are generated from each text field's pattern. */
const samples = 25;

/**
 * Compares every field of the contract that reaches the hypervisor with what the hypervisor accepts: with the
 * values that its own schema allows, and where the API is stricter than the contract, with those that the API
 * accepts.
 */
export async function compareParameters(run: RowRun): Promise<Comparison> {
  const violations = unknownFields();
  const world = await ParameterWorld.open();
  let cases = 0;
  try {
    for (const [place, parameter] of Object.entries(reaching)) {
      const schema = contractFields().get(place);
      if (schema === undefined) {
        violations.push(`the contract has no field ${place}`);
        continue;
      }
      for (const value of valuesOf(schema, run)) {
        if (!(await isTaken(world, place, value))) continue;
        cases += 1;
        const why = refusal(parameter.call, parameter.parameter, parameter.write(String(value)));
        if (why !== null)
          violations.push(`${place} takes ${JSON.stringify(value)}, which the hypervisor refuses: ${why}`);
      }
    }
    run.progress(`${cases} values of ${Object.keys(reaching).length} fields`);
    cases += await tryNetworks(world, violations);
    cases += await tryRules(world, violations);
  } finally {
    await world.close();
  }
  return { cases, violations, reachingFields: Object.keys(reaching).length };
}

/** An agent's report comes from the hypervisor. */
function unknownFields(): string[] {
  return [...contractFields().keys()]
    .filter((place) => !(place in reaching) && !staying.has(place))
    .filter((place) => !place.split("/").some((word) => staying.has(word)))
    .filter((place) => !isOfAnAgent(place))
    .map(
      (place) =>
        `nobody has said whether the hypervisor is told ${place}: name it in reaching-fields.ts or staying-fields.ts`,
    );
}

const isOfAnAgent = (place: string): boolean => /^(claim|report|heartbeat|agent)/i.test(place);

function valuesOf(schema: FieldSchema, { random }: RowRun): (string | number)[] {
  if (schema.enum !== undefined) return [...schema.enum];
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    return [schema.minimum, schema.minimum + 1, schema.maximum - 1, schema.maximum];
  if (schema.pattern === undefined) return [];
  const seed = Math.floor(random() * 2 ** 31);
  const made = fc.sample(fc.stringMatching(new RegExp(schema.pattern)), { seed, numRuns: samples });
  return made.filter(
    (text) => text.length >= (schema.minLength ?? 0) && text.length <= (schema.maxLength ?? 1_000),
  );
}

/** Fields for which the API is stricter than the contract; the contract decides the others. */
async function isTaken(world: ParameterWorld, place: string, value: string | number): Promise<boolean> {
  const [operation = "", field = ""] = place.split("/");
  switch (operation) {
    case "createServer":
      return world.takesServer({ [field]: value });
    case "createIpPool":
      // A gateway and a prefix together are tried below.
      return field === "vlan" && (await world.takesPool({ vlan: value }));
    case "createNetwork":
      return world.takesNetwork(String(value));
    case "createSubnet":
    case "updateSubnet":
    case "importServer":
    case "createSshKey":
      return false;
    default:
      return !/(ports\/-|cidr)$/.test(place) && !(operation.endsWith("Rule") && field === "protocol");
  }
}

/** Every prefix that a pool of either version can have. */
async function tryNetworks(world: ParameterWorld, violations: string[]): Promise<number> {
  const config = "POST /nodes/{node}/qemu/{vmid}/config";
  let cases = 0;
  for (const [gateway, guest, six] of [
    ["203.0.113.1", "203.0.113.2", ""],
    ["2001:db8::1", "2001:db8::2", "6"],
  ] as const)
    for (let prefix = 0; prefix <= 128; prefix += 1) {
      if (!(await world.takesPool({ gateway, prefix_length: prefix }))) continue;
      cases += 1;
      const why = refusal(config, "ipconfig0", `ip${six}=${guest}/${prefix},gw${six}=${gateway}`);
      if (why !== null)
        violations.push(
          `createIpPool takes ${gateway}/${prefix}, which the hypervisor refuses for a guest: ${why}`,
        );
    }
  for (let prefix = 0; prefix <= 32; prefix += 1) {
    const cidr = `10.0.0.0/${prefix}`;
    if (!(await world.takesNetwork(cidr))) continue;
    cases += 1;
    const why = refusal(config, "ipconfig0", `ip=${cidr}`);
    if (why !== null) violations.push(`createNetwork takes ${cidr}, which the hypervisor refuses: ${why}`);
  }
  return cases;
}

/** Fewer rules than a firewall may have, with everything at once: the ends of ports and how many there may be, blocks of every kind, both IP versions. */
function rulesToTry(subnet: string): Rule[] {
  const peers = (...cidrs: string[]) => cidrs.map((cidr) => ({ cidr }));
  const single = (many: number) => Array.from({ length: many }, (_, index) => String(100 + index));
  const ranges = (many: number) =>
    Array.from({ length: many }, (_, index) => `${100 + 10 * index}-${105 + 10 * index}`);
  const everybody = [["0.0.0.0/0"], ["::/0"], ["0.0.0.0/0", "::/0"], ["0.0.0.0/0", "10.0.0.0/8"]];
  const mixed = [
    ["0.0.0.0/0", "2001:db8::/32"],
    ["::/0", "192.0.2.0/24", "198.51.100.7/32"],
    ["10.0.0.0/8", "2001:db8::/32", "fd00::1/128"],
    ["0.0.0.0/1", "128.0.0.0/1", "::/1"],
  ];
  const rules: Rule[] = [];
  // A subnet has addresses of IPv4 alone, whatever the protocol.
  for (const protocol of ["tcp", "icmp", "icmpv6"] as const)
    rules.push({ protocol, peers: [{ subnet_id: subnet }] });
  for (const protocol of ["tcp", "udp", "any", "icmp", "icmpv6"] as const)
    for (const cidrs of [...everybody, ...mixed]) rules.push({ protocol, peers: peers(...cidrs) });
  for (const many of [1, 7, 8, 14, 15]) {
    const any = [{ any: true }] as Rule["peers"];
    rules.push({ protocol: "tcp", ports: single(many), peers: any });
    rules.push({ protocol: "udp", ports: ranges(many), peers: any });
    rules.push({ protocol: "tcp", ports: [...ranges(many).slice(1), "9"], peers: any });
  }
  for (const port of ["0", "1", "65535", "65536", "00022", "80-22", "22-22", "1-65535", "0-1", "65535-65535"])
    rules.push({ protocol: "tcp", ports: [port], peers: peers("192.0.2.0/24") });
  for (const cidr of [
    "10.0.0.1/8",
    "10.0.0.0/33",
    "::ffff:10.0.0.0/104",
    "2001:DB8::/32",
    "010.0.0.0/8",
    "10.0.0.0",
  ])
    for (const direction of ["in", "out"] as const)
      rules.push({ protocol: "tcp", direction, peers: peers(cidr) });
  return rules;
}

async function tryRules(world: ParameterWorld, violations: string[]): Promise<number> {
  const { taken, refusal: why } = await world.applied(rulesToTry(world.subnet));
  if (why !== null) violations.push(`rules that the API took are refused by the region: ${why}`);
  return taken.length;
}
