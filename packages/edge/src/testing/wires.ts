import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { PacketMachine } from "@kule/testing/packets/packet-machine";
import type { EdgeWiring } from "../edge-network.ts";
import { bridgeName } from "../names.ts";

const run = promisify(execFile);

/** Why packets cannot be tried here; undefined when they can. */
export async function probeNamespaces(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  try {
    for (const [program, ...words] of [
      ["ip", "-V"],
      ["nft", "--version"],
      ["ping", "-V"],
    ] as const)
      await run(program, words);
    await run("unshare", ["--net", "ip", "link", "add", "probe", "type", "bridge"]);
    return undefined;
  } catch (error) {
    return `${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
}

/** Machines in namespaces of their own, on the bridges of an edge, and an internet beyond its uplink. */
export class Wires {
  readonly wiring: EdgeWiring;
  readonly #prefix = `k${randomBytes(2).toString("hex")}`;
  readonly #machines: Machine[] = [];
  #made = 0;

  private constructor() {
    this.wiring = {
      uplink: { interface: `${this.#prefix}up` },
      trunk: { interface: this.#prefix, mode: "bridge" },
    };
  }

  static async lay(): Promise<Wires> {
    const wires = new Wires();
    await bridge(wires.wiring.uplink.interface);
    return wires;
  }

  /** A server in the VLAN, with the configuration that cloud-init would have given it. */
  async server(vlan: number, address: string, gateway: string | null): Promise<Machine> {
    const name = bridgeName(this.wiring, vlan);
    await bridge(name);
    return this.#machine(name, [address], gateway);
  }

  /** A machine on the uplink: the next hop of gateways, and whatever of the internet is tried. */
  internet(...addresses: readonly string[]): Promise<Machine> {
    return this.#machine(this.wiring.uplink.interface, addresses, null);
  }

  async end(): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.end()));
    const { stdout } = await run("ip", ["-j", "link", "show"]);
    for (const { ifname } of JSON.parse(stdout) as { ifname: string }[])
      if (ifname.startsWith(this.#prefix)) await run("ip", ["link", "del", ifname]).catch(() => {});
  }

  async #machine(on: string, addresses: readonly string[], gateway: string | null): Promise<Machine> {
    this.#made += 1;
    const namespace = `${this.#prefix}-m${this.#made}`;
    const port = `${this.#prefix}m${this.#made}`;
    await run("ip", ["netns", "add", namespace]);
    const machine = new Machine(namespace);
    this.#machines.push(machine);
    await run("ip", [
      "link",
      "add",
      "name",
      port,
      "type",
      "veth",
      "peer",
      "name",
      "eth0",
      "netns",
      namespace,
    ]);
    await run("ip", ["link", "set", "dev", port, "master", on, "up"]);
    for (const address of addresses)
      await run("ip", ["-n", namespace, "addr", "add", address, "dev", "eth0"]);
    await run("ip", ["-n", namespace, "link", "set", "dev", "lo", "up"]);
    await run("ip", ["-n", namespace, "link", "set", "dev", "eth0", "up"]);
    if (gateway !== null)
      await run("ip", ["-n", namespace, "route", "add", "default", "via", gateway, "onlink", "dev", "eth0"]);
    await machine.start();
    return machine;
  }
}

async function bridge(name: string): Promise<void> {
  await run("ip", ["link", "add", "name", name, "type", "bridge"]).catch(() => {});
  await run("ip", ["link", "set", "dev", name, "up"]);
}

export class Machine extends PacketMachine {
  readonly namespace: string;

  constructor(namespace: string) {
    super(["ip", "netns", "exec", namespace]);
    this.namespace = namespace;
  }

  /** Runs `ip` inside of it, and answers what that prints. */
  async ip(...words: readonly string[]): Promise<string> {
    const { stdout } = await run("ip", ["-n", this.namespace, ...words]);
    return stdout;
  }

  override async end(): Promise<void> {
    await super.end();
    await run("ip", ["netns", "del", this.namespace]);
  }
}
