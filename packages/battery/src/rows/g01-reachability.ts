import { probeWires } from "@kule/lab/wires/wires";
import { oneReader } from "../mutants/one-reader.ts";
import { runMatrix } from "../reachability/matrix.ts";
import type { Row } from "../row.ts";

const ruleset = "packages/edge/src/render-ruleset.ts";
const vmFirewall = "packages/proxmox/src/vm-firewall.ts";
const gatewayPayload = "apps/api/src/products/gateways/payload.ts";
const nodeFilter = "packages/proxmox/src/node-filter.ts";
const edgeLinks = "packages/edge/src/desired-links.ts";

/** In addition to the rules about sources the kernel checks them as well. */
const believesSources = [
  {
    file: edgeLinks,
    find: `"net.ipv4.conf.all.rp_filter": "1"`,
    replace: `"net.ipv4.conf.all.rp_filter": "0"`,
  },
  {
    file: edgeLinks,
    find: `"net.ipv4.conf.default.rp_filter": "1"`,
    replace: `"net.ipv4.conf.default.rp_filter": "0"`,
  },
];

export const row: Row = {
  id: "G1",
  title:
    "Between two organisations' servers with the same addresses a packet arrives where the intent says, and nowhere else",
  minutes: 3,
  needs: { part: "wires", probe: probeWires },
  mutants: [
    {
      name: "any-source",
      removes: "the limit of a guest's interface to its addresses",
      patches: [
        {
          file: "packages/programs/src/servers/public-interface.ts",
          find: "      addresses: [address, ...additional_addresses],",
          replace: `addresses: [address, "0.0.0.0/1", "128.0.0.0/1"].slice(1),`,
        },
      ],
      expects: /: \S+ with the false source 10\.\S+ to its neighbour by \S+: came to/,
    },
    {
      name: "any-source-outside",
      removes: "the limit of a guest's interface to its public addresses",
      patches: [
        {
          file: "packages/programs/src/servers/public-interface.ts",
          find: "addresses: withVersion4(outside) }]),",
          replace: `addresses: [...withVersion4(outside).filter((each) => each.includes(":")), "0.0.0.0/1", "128.0.0.0/1"] }]),`,
        },
      ],
      expects: /outside with the false source 203\.\S+ to \S+( internet)?: came to/,
    },
    {
      name: "version-6-claims-all",
      removes: "the address that keeps an interface without IPv4 from claiming any by ARP",
      patches: [
        {
          file: "packages/programs/src/servers/public-interface.ts",
          find: "? own : [...own, unassignedIpv4]",
          replace: "? own : own",
        },
      ],
      expects: /outside claims \S+ by ARP: came to/,
    },
    {
      name: "any-mac",
      removes: "the limit of a guest to its MAC address",
      patches: [
        {
          file: vmFirewall,
          find: `policy_out: "ACCEPT",
      macfilter: true,`,
          replace: `policy_out: "ACCEPT",
      macfilter: false,`,
        },
      ],
      expects: /with the false MAC \S+ to its neighbour: came to/,
    },
    {
      name: "guests-advertise-routers",
      removes: "the filter of router advertisements from guests",
      patches: [{ file: vmFirewall, find: "ipfilter: true,", replace: "ipfilter: true, radv: true," }],
      expects: /with a router advertisement: came to/,
    },
    {
      name: "guests-lease-addresses",
      removes: "the filter of DHCP answers from guests",
      patches: [{ file: vmFirewall, find: "ipfilter: true,", replace: "ipfilter: true, dhcp: true," }],
      expects: /asks for a lease: came to/,
    },
    {
      name: "guests-send-tags",
      removes: "the nodes' filter of what guests send that is neither IPv4, IPv6 nor ARP",
      patches: [
        {
          file: nodeFilter,
          find: `    iifname "tap*" iifname != @others ether type != { ip, ip6, arp } drop`,
          replace: `    iifname "tap*" iifname != @others ether type != { ip, ip6, arp } accept`,
        },
      ],
      expects: /with (two priority tags|a priority tag) as \S+ to \S+ \S+ and everybody: came to rogue/,
    },
    {
      name: "guests-get-tags",
      removes: "the nodes' filter of what guests receive that is neither IPv4, IPv6 nor ARP",
      patches: [
        {
          file: nodeFilter,
          find: `    oifname "tap*" oifname != @others ether type != { ip, ip6, arp } drop`,
          replace: `    oifname "tap*" oifname != @others ether type != { ip, ip6, arp } accept`,
        },
      ],
      expects: /rogue-\S+ with a priority tag to (acme-one-app-[12]|acme-one-data-\d): came to acme/,
    },
    {
      name: "addresses-of-the-link",
      removes: "the rule against link-local addresses",
      patches: [
        {
          file: "packages/programs/src/firewalls/desired-firewall.ts",
          find: "const rules = [noLinkAddresses, ...(filter?.rules ?? []), ...last].flatMap((rule) => {",
          replace: "const rules = [...(filter?.rules ?? []), ...last].flatMap((rule) => {",
        },
        oneReader,
      ],
      expects: /with its address of the link to its neighbour by \S+: came to/,
    },
    {
      name: "one-vlan-for-all",
      removes: "the VLAN of each subnet from its servers' interfaces",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/desired-vm.ts",
          find: `          vlan,
`,
          replace: `          vlan: vlan < 0 ? vlan : 100,
`,
        },
      ],
      expects: /^[^:]*: acme\S+ .*: (came to|was overheard by) globex/,
    },
    {
      name: "firewalls-let-in",
      removes: "that a filtered server denies inbound traffic by default",
      patches: [
        {
          file: "packages/programs/src/firewalls/desired-firewall.ts",
          find: "const last = filter?.is_filtered === true ? [] : [allowAllInbound];",
          replace: "const last = [allowAllInbound];",
        },
        oneReader,
      ],
      expects: /came to .*the intent says no \(.*firewall_default/,
    },
    {
      name: "rules-only-allow",
      removes: "the effect of rules that deny",
      patches: [
        {
          file: "packages/programs/src/firewalls/desired-firewall.ts",
          find: `action: action === "allow" ? "ACCEPT" : "DROP",`,
          replace: `action: action === "allow" ? "ACCEPT" : "ACCEPT",`,
        },
        oneReader,
      ],
      expects: /came to .*the intent says no \(.*firewall_rule/,
    },
    {
      name: "router-passes-all",
      removes: "that an edge's router denies by default",
      patches: [
        {
          file: ruleset,
          find: `filter("through", "forward", 0, "drop")`,
          replace: `filter("through", "forward", 0, "accept")`,
        },
      ],
      expects: /the internet to \S+ by its gateway's MAC .*: came to/,
    },
    {
      name: "router-believes-subnets",
      removes: "the edge's check of sources from a subnet, and the kernel's behind it",
      patches: [
        {
          file: ruleset,
          find: `ne(ip("saddr"), prefix(subnet.cidr)), drop)`,
          replace: `eq(ip("saddr"), "255.255.255.255"), drop)`,
        },
        ...believesSources,
      ],
      expects: /rogue-\S+ with the false source \S+ to \S+: came to/,
    },
    {
      name: "router-believes-uplink",
      removes: "the edge's check of private sources from outside, and the kernel's behind it",
      patches: [
        {
          file: ruleset,
          find: `rule("arriving", from(uplinkName), eq(ip("saddr"), prefix(cidr)), drop)`,
          replace: `rule("arriving", from(uplinkName), eq(ip("saddr"), "255.255.255.255"), ne(ip("saddr"), prefix(cidr)), drop)`,
        },
        ...believesSources,
      ],
      expects: /the internet with the inside source \S+ to the forwarded port .*: came to/,
    },
    {
      name: "inside-addresses-go-out",
      removes: "that a gateway drops outbound packets to private addresses",
      patches: [
        {
          file: ruleset,
          find: `      ...notOfTheInternet.map((each) => ne(ip("daddr"), prefix(each))),
`,
          replace: `      ne(ip("daddr"), notOfTheInternet[0] === undefined ? null : "255.255.255.255"),
`,
        },
      ],
      expects: /to (10\.77\.0\.2|192\.168\.7\.7) by .*came to internet/,
    },
    {
      name: "subnets-that-left",
      removes: "that a detached subnet is removed from the edge",
      patches: [
        {
          file: gatewayPayload,
          find: `    .where("left_generation", "is", null)
    .orderBy("subnet_id")`,
          replace: `    .orderBy("subnet_id")`,
        },
      ],
      expects: /other subnets served .*: globex-one-app-\d to .*came to internet/,
    },
    {
      name: "ports-that-left",
      removes: "that a deleted UDP forward is removed from the edge",
      patches: [
        {
          file: gatewayPayload,
          find: `    .where("left_generation", "is", null)
    .orderBy("protocol")`,
          replace: `    .where((row) => row.or([row("left_generation", "is", null), row("protocol", "=", "udp")]))
    .orderBy("protocol")`,
        },
      ],
      expects: /nothing forwarded: internet to 203\.\S+ by \S+ 8\d+: came to (acme|globex)/,
    },
    {
      name: "uplink-floods",
      removes: "that a gateway has a port of its own where the uplink is a bridge",
      patches: [
        {
          file: edgeLinks,
          find: "isOnBridge && gateway.vlan === null",
          replace: "isOnBridge && gateway.vlan === 0",
        },
      ],
      expects: /: was flooded to \S+ eth\d/,
    },
    {
      name: "explain-forgets-gateways",
      removes: "the gateways from what explain uses",
      patches: [
        {
          file: "apps/api/src/products/reachability/explain-network.ts",
          find: "const verdict = reach(intent, {",
          replace: "const verdict = reach({ ...intent, gateways: [] }, {",
        },
      ],
      expects: /explain says 200 (denied by gateway|allowed by nobody), and the intent 200/,
    },
    {
      name: "explain-forgets-firewalls",
      removes: "the firewalls from what explain uses",
      patches: [
        {
          file: "apps/api/src/products/reachability/explain-network.ts",
          find: "const verdict = reach(intent, {",
          replace: "const verdict = reach({ ...intent, firewalls: [] }, {",
        },
      ],
      expects: /explain says 200 allowed by/,
    },
    {
      name: "drives-without-the-network",
      removes: "from cloud-init that a guest with a public address has its whole network on its private link",
      patches: [
        {
          file: "packages/programs/src/servers/public-interface.ts",
          find: "if (gateway !== null || network_cidr === undefined) return prefix_length;",
          replace: "if (gateway !== null || network_cidr !== undefined) return prefix_length;",
        },
      ],
      expects: /-app-3 to 10\.0\.[23]\.\S+ by .*did not come there and back, although the intent says yes/,
    },
    {
      name: "routers-answer-for-themselves-alone",
      removes: "that a subnet's router answers ARP for the network's other subnets",
      patches: [
        {
          file: edgeLinks,
          find: `{ [proxy]: "1", `,
          replace: `{ [proxy]: "0", `,
        },
      ],
      expects: /-app-3 to 10\.0\.[23]\.\S+ by .*did not come there and back, although the intent says yes/,
    },
    {
      name: "guests-told-of-everything",
      removes: "the exclusion of private networks from the routes of a running guest's public interface",
      patches: [
        {
          file: "packages/programs/src/public-ips/guest-network.ts",
          find: "return remainingBlocks(left).map(formatCidr);",
          replace: "return remainingBlocks(left.slice(left.length)).map(formatCidr);",
        },
      ],
      expects:
        /acme-one-app-1 to 10\.0\.[23]\.\S+ by .*did not come there and back, although the intent says yes/,
    },
    {
      name: "intent-forgets-routes",
      removes: "from the rules that a guest replies by the interface of its public address",
      patches: [
        {
          file: "packages/rules/src/networks/reachability.ts",
          find: "if (receiver.publicAddresses.some((address) => addressOf(address).version === 4))",
          replace:
            "if (receiver.publicAddresses.some((address) => addressOf(address).version === 5 as number))",
        },
      ],
      expects: /did not come there and back, although the intent says yes/,
    },
  ],
  run: runMatrix,
};
