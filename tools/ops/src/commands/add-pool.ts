import type { Schemas } from "@kule/contract/schemas";
import { type Command, readInteger, UsageError } from "../command.ts";

export const addPool: Command = {
  noun: "pool",
  verb: "add",
  summary: "Create an IP pool with its ranges of public addresses",
  options: {
    region: { value: "SLUG", about: "the region that has the addresses", isRequired: true },
    name: { value: "NAME", about: "its name for operators", isRequired: true },
    gateway: { value: "ADDRESS", about: "the gateway that guests are given", isRequired: true },
    "prefix-length": { value: "N", about: "of the network that the addresses are in", isRequired: true },
    range: {
      value: "START-END|CIDR",
      about: "addresses of the pool; may be given several times",
      isRequired: true,
      isRepeated: true,
    },
    vlan: { value: "N", about: "VLAN of the public bridge (default: the region file's)" },
    "reverse-name": { value: "PATTERN", about: "of their reverse names, such as *.static.example.net" },
  },
  async run(given, api) {
    const ranges = given.all("range").map(readAddresses);
    const vlan = given.one("vlan");
    const reverseName = given.one("reverse-name");
    const client = api.client();
    const pool = await api.ask(
      client.POST("/ip-pools", {
        params: { header: api.once() },
        body: {
          region: given.needed("region"),
          name: given.needed("name"),
          gateway: given.needed("gateway"),
          prefix_length: readInteger("prefix-length", given.needed("prefix-length")),
          ...(vlan === undefined ? {} : { vlan: readInteger("vlan", vlan) }),
          ...(reverseName === undefined ? {} : { reverse_name: reverseName }),
        },
      }),
    );
    const added: Schemas["IpPoolRange"][] = [];
    for (const body of ranges)
      added.push(
        await api.ask(
          client.POST("/ip-pools/{ip_pool_id}/ranges", {
            params: { path: { ip_pool_id: pool.id }, header: api.once() },
            body,
          }),
        ),
      );
    return {
      json: { pool, ranges: added },
      text: () =>
        [
          `created ${pool.id} (${pool.name})`,
          ...added.map(({ start, end, size }) => `  ${start} to ${end}: ${size} addresses`),
        ].join("\n"),
    };
  },
};

function readAddresses(text: string): { start: string; end: string } | { cidr: string } {
  if (/^[0-9A-Fa-f:.]+\/\d{1,3}$/.test(text)) return { cidr: text };
  const [start = "", end = "", ...more] = text.split("-");
  if (start === "" || end === "" || more.length > 0)
    throw new UsageError(
      `--range is ${JSON.stringify(text)}: give 203.0.113.10-203.0.113.99 or 203.0.113.0/28`,
    );
  return { start, end };
}
