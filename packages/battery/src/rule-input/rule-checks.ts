import { output, type Runner } from "@kule/edge/runner";
import type { PacketScene } from "../reachability/packet-scene.ts";
import type { RuleWorld, Written } from "./rule-world.ts";

/** Every allowed value in a rule of a VM, by its key; other keys are not allowed. */
const ruleWords: Readonly<Record<string, RegExp>> = {
  type: /^(in|out)$/,
  action: /^(ACCEPT|DROP)$/,
  enable: /^1$/,
  proto: /^(tcp|udp|icmp|icmpv6)$/,
  dport: /^\d{1,5}(:\d{1,5})?(,\d{1,5}(:\d{1,5})?)*$/,
  source: /^(\+kule-[0-9a-f]{16}|[0-9a-f:.]+(\/\d{1,3})?)$/,
  comment: /^(fwr_[0-9a-z]+|platform_(link_addresses|no_firewall))$/,
  pos: /^\d+$/,
  digest: /^[0-9a-f]+$/,
  ipversion: /^[46]$/,
};

const jobNote = /^kule:job job_[0-9a-z]+( turn=\d+)?$/;

/** The rules of the target's VM are the requested ones, one each, and the platform's. */
export async function vmViolations(
  { lab }: PacketScene,
  { target }: RuleWorld,
  written: readonly Written[],
): Promise<string[]> {
  const { vmid } = target;
  const machines = await lab.client.call("GET /cluster/resources", { type: "vm" });
  const node = machines.find((each) => Number(each.vmid) === vmid)?.node ?? "";
  const listed = await lab.client.call("GET /nodes/{node}/qemu/{vmid}/firewall/rules", { node, vmid });
  // The last one names the job: it is never enabled, and contains no text of a user.
  const last = listed.at(-1);
  const isNote = Number(last?.enable ?? 0) === 0 && jobNote.test(String(last?.comment ?? "").trimEnd());
  const rules = isNote ? listed.slice(0, -1) : listed;
  const sets = await lab.client.call("GET /nodes/{node}/qemu/{vmid}/firewall/ipset", { node, vmid });
  const violations = rules.flatMap((rule) =>
    Object.entries(rule)
      .filter(([key, value]) => ruleWords[key]?.test(String(value)) !== true)
      .map(([key, value]) => `VM ${vmid} has a rule with the ${key} ${JSON.stringify(value)}`),
  );
  for (const { name } of sets)
    if (!/^(ipfilter-net\d|kule-[0-9a-f]{16})$/.test(name))
      violations.push(`VM ${vmid} has a set named ${JSON.stringify(name)}`);
  const said = rules.map(({ type, action, proto, source, dport }) =>
    [type, action, proto, source ?? "any", dport].join(" "),
  );
  const meant = ["in DROP  fe80::/10 ", ...written.map(({ port }) => `in ACCEPT tcp any ${port}`).toSorted()];
  violations.push(...differences(`VM ${vmid} has the rule`, [...said].toSorted(), meant.toSorted()));
  return violations;
}

/** The differences of two lists, with repetitions. */
function differences(what: string, said: readonly string[], meant: readonly string[]): string[] {
  const count = (all: readonly string[], text: string) => all.filter((each) => each === text).length;
  return [...new Set([...said, ...meant])]
    .filter((text) => count(said, text) !== count(meant, text))
    .map((text) => `${what} "${text}" ${count(said, text)} times, and not ${count(meant, text)} times`);
}

/** nft's own keywords and Kule's; otherwise names of interfaces, addresses or numbers. */
const rulesetWords = new RegExp(
  `^(${[
    "kule|generation_\\d+|arriving|to_router|through|inside|forwards|leaving|left|s\\d+|up",
    "inet|filter|nat|prerouting|input|forward|postrouting|accept|drop|1\\.\\d+\\.\\d+|Lester Gooch #\\d",
    "==|!=|in|nfproto|iifname|oifname|ipv4|ipv6|ip|icmp|tcp|udp|saddr|daddr|sport|dport|type|echo-request",
    "state|status|direction|original|reply|established|related|invalid|dnat|snat|second|packets",
    "\\d+(\\.\\d+){3}|\\d+",
  ].join("|")})$`,
);

/**
 * The rules of every network at the edge: as many of each chain as its subnets and forwarded ports need, and
 * no text.
 */
export async function edgeViolations(
  { runner, owner }: PacketScene,
  world: RuleWorld,
  written: readonly Written[],
): Promise<string[]> {
  const { rows } = await owner.query<{ id: string; subnets: string }>(
    "select n.id, (select count(*) from subnet s where s.network_id = n.id) as subnets from network n",
  );
  const violations: string[] = [];
  const listed = await output(runner, { words: ["ip", "-j", "netns", "list"] });
  const namespaces = (JSON.parse(listed) as { name: string }[]).map(({ name }) => name);
  const ours = namespaces.filter((name) => !/^(vm\d+|internet)$/.test(name));
  violations.push(
    ...differences(
      "the edge has the namespace",
      ours,
      rows.map(({ id }) => `kule-${id}`),
    ),
  );
  for (const { id, subnets } of rows) {
    const name = `kule-${id}`;
    if (!ours.includes(name)) continue;
    const isServed = id === world.network;
    const wanted = rulesWanted(Number(subnets), isServed ? written.length : null);
    // Those of other organisations were checked when they were written.
    const hasOthersGateway = !isServed && (await chainCounts(runner, name)).has("forwards");
    if (hasOthersGateway) continue;
    const text = await output(runner, inside(name, "nft", "-j", "list", "ruleset"));
    for (const word of stringsIn(JSON.parse(text)))
      if (!rulesetWords.test(word)) violations.push(`${name} has ${JSON.stringify(word)} in its rules`);
    const counts = await chainCounts(runner, name);
    for (const chain of new Set([...counts.keys(), ...Object.keys(wanted)]))
      if ((counts.get(chain) ?? 0) !== (wanted[chain] ?? 0))
        violations.push(
          `${name} has ${counts.get(chain) ?? 0} rules in ${chain}, and not ${wanted[chain] ?? 0}`,
        );
    violations.push(...(await refusedByNft(runner, name)));
  }
  return violations;
}

/** @param forwarded null: without a gateway */
function rulesWanted(subnets: number, forwarded: number | null): Record<string, number> {
  const inner = { arriving: 1 + 2 * subnets, to_router: subnets, through: 1 + subnets, inside: subnets };
  if (forwarded === null) return inner;
  return {
    ...inner,
    arriving: inner.arriving + subnets + 1,
    to_router: inner.to_router + 1,
    // The one subnet is served: out and back. A forwarded port has its way in and its way back.
    through: inner.through + 2 + 2 * forwarded,
    forwards: forwarded,
    leaving: 1,
    left: 1,
  };
}

const inside = (namespace: string, ...words: string[]) => ({
  words: ["ip", "netns", "exec", namespace, ...words] as [string, ...string[]],
});

async function chainCounts(runner: Runner, namespace: string): Promise<Map<string, number>> {
  const text = await output(runner, inside(namespace, "nft", "-j", "list", "ruleset"));
  const { nftables } = JSON.parse(text) as { nftables: { rule?: { chain: string } }[] };
  const counts = new Map<string, number>();
  for (const { rule } of nftables)
    if (rule !== undefined) counts.set(rule.chain, (counts.get(rule.chain) ?? 0) + 1);
  return counts;
}

/** The output of nft is read by nft again; it proves little, and costs nothing. */
async function refusedByNft(runner: Runner, namespace: string): Promise<string[]> {
  const input = await output(runner, inside(namespace, "nft", "list", "ruleset"));
  const { code, stderr } = await runner.run({
    words: ["unshare", "--net", "sh", "-c", "cat | nft -c -f -"],
    input,
  });
  return code === 0 ? [] : [`${namespace}: nft -c says ${stderr.trim()}`];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
