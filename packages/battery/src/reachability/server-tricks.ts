import { isAttached } from "@kule/rules/firewalls/firewall";
import { arp, echo, ethernet, icmp, ip, syn, tokenOf, udp } from "@kule/testing/packets/frames";
import { outside } from "./packet-scene.ts";
import type { Cabling } from "./segments.ts";
import type { Town, TownServer } from "./town.ts";
import type { Trick } from "./trick.ts";

const everybody = "ff:ff:ff:ff:ff:ff";
const allNodes = { mac: "33:33:00:00:00:01", address: "ff02::1" };
const nobodysMac = "02:00:00:00:00:66";
const noMac = "00:00:00:00:00:00";

export type RouterMacs = {
  /** By the subnet that it is the router of. */
  readonly inside: ReadonlyMap<string, string>;
  /** By the network whose gateway it is. */
  readonly uplink: ReadonlyMap<string, string>;
};

/** What a server does on its private interface. */
export function serverTricks(town: Town, cabling: Cabling, routers: RouterMacs): Trick[] {
  return town.servers.flatMap((server) => new Trickster(town, cabling, routers, server).tricks());
}

/** Whether it lets in what nobody has asked for. */
export const isOpen = ({ intent }: Town, { id }: TownServer): boolean => {
  const server = intent.servers.find((each) => each.id === id);
  return server !== undefined && !intent.firewalls.some((firewall) => isAttached(firewall, server));
};

class Trickster {
  readonly #town: Town;
  readonly #cabling: Cabling;
  readonly #self: TownServer;
  readonly #mac: string;
  readonly #router: string;
  /** In its subnet; the first of those that let everything in, if there is one. */
  readonly #neighbour: TownServer | null;
  /** In another subnet of its network. */
  readonly #cousin: TownServer | null;
  readonly #strangers: readonly TownServer[];
  readonly #routers: RouterMacs;

  constructor(town: Town, cabling: Cabling, routers: RouterMacs, self: TownServer) {
    this.#town = town;
    this.#cabling = cabling;
    this.#routers = routers;
    this.#self = self;
    this.#mac = cabling.macOf(self.name);
    this.#router = routers.inside.get(self.subnetId) ?? noMac;
    const openFirst = (all: readonly TownServer[]) =>
      all.find((each) => isOpen(town, each)) ?? all[0] ?? null;
    const others = town.servers.filter(({ id }) => id !== self.id);
    this.#neighbour = openFirst(others.filter(({ subnetId }) => subnetId === self.subnetId));
    this.#cousin = openFirst(
      others.filter((each) => each.networkId === self.networkId && each.subnetId !== self.subnetId),
    );
    this.#strangers = others.filter((each) => each.networkId !== self.networkId);
  }

  tricks(): Trick[] {
    return [
      ...this.#sources(),
      ...this.#fragments(),
      ...this.#addressesOfVersion6(),
      ...this.#neighbourhood(),
      ...this.#leases(),
      ...this.#tags(),
      ...this.#strangersMacs(),
      // Its own bridge believes them, and leads nothing of it there any more until the true one speaks.
      ...this.#macs(),
    ];
  }

  #trick(what: string, frames: Trick["frames"], within: Trick["within"] = null, must?: string): Trick {
    const name = `${this.#self.name} ${what}`;
    const base = { name, place: this.#self.name, device: "eth0", frames, within };
    return must === undefined ? base : { ...base, must };
  }

  get #own() {
    return this.#cabling.segmentOf(this.#self);
  }

  /** Who can be sent to, how: straight, or by the router. */
  get #targets(): readonly { readonly how: string; readonly mac: string; readonly address: string }[] {
    return [
      ...(this.#neighbour === null
        ? []
        : [
            {
              how: "to its neighbour",
              mac: this.#cabling.macOf(this.#neighbour.name),
              address: this.#neighbour.address,
            },
          ]),
      ...(this.#cousin === null
        ? []
        : [{ how: "to another subnet", mac: this.#router, address: this.#cousin.address }]),
      { how: "to the internet", mac: this.#router, address: outside.beyond[4] },
    ];
  }

  #lies(): string[] {
    const prefix = this.#self.address.split(".").slice(0, 3).join(".");
    return [
      `${prefix}.77`,
      `${prefix}.1`,
      ...(this.#neighbour === null ? [] : [this.#neighbour.address]),
      ...(this.#cousin === null ? [] : [this.#cousin.address]),
      outside.beyond[4],
      outside.nextHops[4],
      "203.0.113.40",
      ...this.#town.servers
        .flatMap(({ publicAddresses }) => publicAddresses)
        .filter((address) => !address.includes(":") && !this.#self.publicAddresses.includes(address))
        .slice(0, 1),
      "0.0.0.0",
      "127.0.0.1",
      "192.168.7.7",
    ];
  }

  #sources(): Trick[] {
    return this.#targets.flatMap(({ how, mac, address }) =>
      this.#lies().flatMap((source) => {
        const [head, link] = [
          { source, destination: address },
          { from: this.#mac, to: mac },
        ];
        const what = `with the false source ${source} ${how}`;
        return [
          this.#trick(`${what} by udp`, (flow) => [
            ethernet(link, "ip", ip(head, 17, udp(head, { from: flow, to: 53 }, tokenOf(flow)))),
          ]),
          this.#trick(`${what} by tcp`, (flow) => [
            ethernet(link, "ip", ip(head, 6, syn(head, { from: flow, to: 80 }))),
          ]),
          this.#trick(`${what} by icmp`, (flow) => [
            ethernet(link, "ip", ip(head, 1, icmp(head, 8, 0, echo(flow)))),
          ]),
        ];
      }),
    );
  }

  #datagram(flow: number, source: string, destination: string, port = 53): Buffer {
    const head = { source, destination };
    return ip(head, 17, udp(head, { from: flow, to: port }, tokenOf(flow)));
  }

  #macs(): Trick[] {
    const lies = [
      nobodysMac,
      this.#router,
      ...(this.#neighbour === null ? [] : [this.#cabling.macOf(this.#neighbour.name)]),
    ];
    return this.#targets.flatMap(({ how, mac, address }) =>
      lies
        .filter((lie) => lie !== mac)
        .flatMap((from) => [
          this.#trick(`with the false MAC ${from} ${how}`, (flow) => [
            ethernet({ from, to: mac }, "ip", this.#datagram(flow, this.#self.address, address)),
          ]),
        ]),
    );
  }

  /** What an honest one would be let through, cut so that it looks like something else on the way. */
  #fragments(): Trick[] {
    const cut = (flow: number, source: string, destination: string, overlap: boolean) => {
      const head = { source, destination };
      const whole = udp(head, { from: flow, to: 53 }, Buffer.concat([tokenOf(flow), Buffer.alloc(34)]));
      const second = Buffer.concat([tokenOf(flow), Buffer.alloc(18)]);
      const id = flow;
      return [
        ip({ ...head, fragment: { id, offset: 0, isLast: false } }, 17, whole.subarray(0, 24)),
        ip({ ...head, fragment: { id, offset: overlap ? 8 : 24, isLast: true } }, 17, second),
      ];
    };
    return this.#targets.flatMap(({ how, mac, address }) => {
      const link = { from: this.#mac, to: mac };
      const lie = this.#lies()[0] ?? "";
      return [
        this.#trick(`in fragments with the false source ${lie} ${how}`, (flow) =>
          cut(flow, lie, address, false).map((each) => ethernet(link, "ip", each)),
        ),
        this.#trick(
          `with a first fragment of its own and a second with the false source ${lie} ${how}`,
          (flow) => {
            const [first] = cut(flow, this.#self.address, address, false);
            const [, second] = cut(flow, lie, address, false);
            return [first, second].flatMap((each) =>
              each === undefined ? [] : [ethernet(link, "ip", each)],
            );
          },
        ),
        this.#trick(`in fragments that lie over one another ${how}`, (flow) =>
          cut(flow, this.#self.address, address, true).map((each) => ethernet(link, "ip", each)),
        ),
      ];
    });
  }

  #addressesOfVersion6(): Trick[] {
    const own = this.#cabling.linkLocalOf(this.#self.name);
    const neighbour = this.#neighbour;
    const datagram = (flow: number, source: string, destination: string, to: string) => {
      const head = { source, destination };
      const body = ip(head, 17, udp(head, { from: flow, to: 80 }, tokenOf(flow)));
      return [ethernet({ from: this.#mac, to }, "ip6", body)];
    };
    const advertisement = (flow: number, source: string) => {
      const head = { source, destination: allNodes.address, hops: 255 };
      // A router for half an hour, of high preference, with an option that nobody knows.
      const body = Buffer.concat([
        Buffer.from([64, 8, 7, 8]),
        Buffer.alloc(8),
        Buffer.from([253, 1]),
        tokenOf(flow),
      ]);
      return [ethernet({ from: this.#mac, to: allNodes.mac }, "ip6", ip(head, 58, icmp(head, 134, 0, body)))];
    };
    const globals = ["fe80::66", "fd00::5", "2001:db8:7::10", outside.beyond[6]];
    return [
      this.#trick("with a router advertisement", (flow) => advertisement(flow, own)),
      this.#trick("with a router advertisement of fe80::1", (flow) => advertisement(flow, "fe80::1")),
      // The router speaks no IPv6, whoever asks.
      this.#trick(
        "with IPv6 to the internet",
        (flow) => datagram(flow, own, outside.beyond[6], this.#router),
        this.#own,
      ),
      ...globals.map((source) =>
        this.#trick(`with the false source ${source} to the internet`, (flow) =>
          datagram(flow, source, outside.beyond[6], this.#router),
        ),
      ),
      ...(neighbour === null
        ? []
        : [
            ...globals.map((source) =>
              this.#trick(`with the false source ${source} to its neighbour`, (flow) =>
                datagram(
                  flow,
                  source,
                  this.#cabling.linkLocalOf(neighbour.name),
                  this.#cabling.macOf(neighbour.name),
                ),
              ),
            ),
            this.#trick(
              "with its address of the link to its neighbour",
              (flow) =>
                datagram(
                  flow,
                  own,
                  this.#cabling.linkLocalOf(neighbour.name),
                  this.#cabling.macOf(neighbour.name),
                ),
              this.#own,
              ...(isOpen(this.#town, neighbour) ? [neighbour.name] : []),
            ),
          ]),
      ...this.#strangers
        .slice(0, 3)
        .map((stranger) =>
          this.#trick(
            `with its address of the link to ${stranger.name}`,
            (flow) =>
              datagram(
                flow,
                own,
                this.#cabling.linkLocalOf(stranger.name),
                this.#cabling.macOf(stranger.name),
              ),
            this.#own,
          ),
        ),
    ];
  }

  #neighbourhood(): Trick[] {
    const prefix = this.#self.address.split(".").slice(0, 3).join(".");
    const claims = [
      `${prefix}.1`,
      `${prefix}.77`,
      ...(this.#neighbour === null ? [] : [this.#neighbour.address]),
    ];
    const say = (flow: number, from: string, senderIp: string, operation: "request" | "reply") => [
      ethernet(
        { from, to: everybody },
        "arp",
        arp({ operation, senderMac: this.#mac, senderIp, targetMac: noMac, targetIp: senderIp }, flow),
      ),
    ];
    return [
      ...claims.flatMap((claim) =>
        (["request", "reply"] as const).map((operation) =>
          this.#trick(`claims ${claim} by an ARP ${operation}`, (flow) =>
            say(flow, this.#mac, claim, operation),
          ),
        ),
      ),
      this.#trick("says its own address by ARP with a false MAC", (flow) =>
        say(flow, nobodysMac, this.#self.address, "reply"),
      ),
      this.#trick(
        "says its own address by ARP",
        (flow) => say(flow, this.#mac, this.#self.address, "reply"),
        this.#own,
        ...(this.#neighbour === null ? [] : [this.#neighbour.name]),
      ),
    ];
  }

  /** As a client and as a server of leases. */
  #leases(): Trick[] {
    const prefix = this.#self.address.split(".").slice(0, 3).join(".");
    const shout = (flow: number, source: string, from: number, to: number) => {
      const head = { source, destination: "255.255.255.255" };
      const body = ip(head, 17, udp(head, { from, to }, tokenOf(flow)));
      return [ethernet({ from: this.#mac, to: everybody }, "ip", body)];
    };
    return [
      this.#trick("asks for a lease", (flow) => shout(flow, "0.0.0.0", 68, 67)),
      this.#trick("offers leases as the router", (flow) => shout(flow, `${prefix}.1`, 67, 68)),
      // Servers ask for none: it is a datagram like another, and goes no further.
      this.#trick("offers leases as itself", (flow) => shout(flow, this.#self.address, 67, 68), this.#own),
      this.#trick("offers leases of IPv6 as another", (flow) => {
        const head = { source: "fe80::66", destination: allNodes.address };
        const body = ip(head, 17, udp(head, { from: 547, to: 546 }, tokenOf(flow)));
        return [ethernet({ from: this.#mac, to: allNodes.mac }, "ip6", body)];
      }),
      this.#trick(
        "calls everybody of another subnet",
        (flow) => [
          ethernet(
            { from: this.#mac, to: this.#router },
            "ip",
            this.#datagram(flow, this.#self.address, "10.0.2.255"),
          ),
        ],
        this.#own,
      ),
    ];
  }

  /** A tag that is on a frame already when it comes out of the VM. */
  #tags(): Trick[] {
    const own = this.#town.subnets.find(({ id }) => id === this.#self.subnetId);
    const foreign = this.#town.subnets.filter(({ id }) => id !== own?.id).map(({ vlan }) => vlan);
    const others = [...foreign, 10].map((tag) =>
      this.#trick(
        `with the tag of VLAN ${tag}`,
        (flow) => [
          ethernet(
            { from: this.#mac, to: everybody, tag },
            "ip",
            this.#datagram(flow, this.#self.address, "255.255.255.255"),
          ),
        ],
        this.#own,
      ),
    );
    // Proxmox VE's bridges do not look into frames with a priority alone: there the edge is what is left.
    const lies = [this.#cousin?.address ?? "10.0.9.9", outside.beyond[4], "203.0.113.40"];
    const bypasses = lies.map((source) =>
      this.#trick(
        `with a priority tag and the false source ${source} by the router`,
        (flow) => [
          ethernet(
            { from: this.#mac, to: this.#router, tag: 0 },
            "ip",
            this.#datagram(flow, source, source === outside.beyond[4] ? "10.0.2.2" : outside.beyond[4]),
          ),
        ],
        this.#own,
      ),
    );
    return [...others, ...bypasses];
  }

  /** As if a switch could be led astray: the frame names somebody in another network. */
  #strangersMacs(): Trick[] {
    const foreignRouters = [...this.#routers.inside]
      .filter(([subnetId]) =>
        this.#town.subnets.some((each) => each.id === subnetId && each.networkId !== this.#self.networkId),
      )
      .map(([, mac]) => mac);
    return [
      ...this.#strangers.map((stranger) =>
        this.#trick(
          `to the MAC of ${stranger.name}`,
          (flow) => [
            ethernet(
              { from: this.#mac, to: this.#cabling.macOf(stranger.name) },
              "ip",
              this.#datagram(flow, this.#self.address, stranger.address),
            ),
          ],
          this.#own,
        ),
      ),
      ...foreignRouters.map((mac) =>
        this.#trick(
          `to the MAC ${mac} of another network's router`,
          (flow) => [
            ethernet(
              { from: this.#mac, to: mac },
              "ip",
              this.#datagram(flow, this.#self.address, "10.0.2.2"),
            ),
          ],
          this.#own,
        ),
      ),
    ];
  }
}
