import type { EdgeWiring } from "../edge-network.ts";
import type { Command, CommandResult, Runner } from "../runner.ts";
import { MemoryRuleset } from "./memory-ruleset.ts";

type Link = {
  readonly ifindex: number;
  readonly name: string;
  readonly kind: string;
  readonly mac: string;
  readonly vlan: number | null;
  /** The outside interface that it is attached to; of a cable its other end. */
  readonly on: number | null;
  master: string | null;
  isUp: boolean;
  readonly addresses: string[];
};
type Namespace = {
  readonly links: Map<string, Link>;
  default: { via: string; device: string } | null;
  readonly settings: Map<string, string>;
  readonly rules: MemoryRuleset;
};

class Refused extends Error {}

/** The kernel's defaults, in hundredths of a second where it is a time. */
const kernelDefault = (key: string): string => (key.endsWith(".proxy_delay") ? "80" : "0");
/** So many commands later the links of a namespace that was deleted with them are gone. */
const lingerCommands = 3;

/**
 * A Linux machine in memory for LinuxEdge: the same commands, refused for the same reasons. It simulates the
 * kernel's behaviour where a driver could get it wrong: a namespace or a name is created once, a VLAN of an
 * interface is one link's wherever it was moved, a batch stops where it fails and keeps the lines before, a
 * set of rules applies as a whole, and the links of a deleted namespace stay for a while.
 */
export class MemoryMachine implements Runner {
  readonly #namespaces = new Map<string, Namespace>();
  readonly #outside = new Map<string, Link>();
  #lingering: { readonly links: readonly Link[]; until: number }[] = [];
  #indexes = 0;
  #commands = 0;
  /** Every command that changed something, or tried to. */
  readonly journal: Command[] = [];

  constructor({ uplink, trunk }: EdgeWiring) {
    for (const name of new Set([uplink.interface, trunk.interface]))
      this.#addOutside(name, "dummy", null, null);
  }

  run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    signal?.throwIfAborted();
    return Promise.resolve(this.execute(command));
  }

  /** The command's outcome, at once. */
  execute({ words, input = "" }: Command): CommandResult {
    this.#commands += 1;
    this.#lingering = this.#lingering.filter(({ until }) => until > this.#commands);
    try {
      return { code: 0, stdout: this.#do(words, input), stderr: "" };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { code: 1, stdout: "", stderr: `${error.message}\n` };
    }
  }

  /** The machine was switched off and on: all of this was in memory. */
  reboot(): void {
    this.#namespaces.clear();
    this.#lingering = [];
    for (const [name, link] of this.#outside) if (link.kind !== "dummy") this.#outside.delete(name);
  }

  get namespaces(): readonly string[] {
    return [...this.#namespaces.keys()];
  }

  #do(words: readonly string[], input: string): string {
    const text = words.join(" ");
    if (text === "ip -j netns list") return listed(this.namespaces.map((name) => ({ name })));
    if (text === "ip -j link show")
      return listed([...this.#outside.values()].map((link) => this.#shown(link)));
    // None of its own interfaces is a bridge.
    if (text === "bridge -j fdb show") return listed([]);
    if (text.startsWith("unshare --net sh -c ")) {
      const nobody = new MemoryRuleset();
      refuseIf(nobody.apply(input));
      return nobody.list();
    }
    const [program, option, name = ""] = words;
    if (program === "ip" && option === "-n") {
      const space = this.#namespace(name);
      const rest = words.slice(3).join(" ");
      if (rest === "-j -d addr show")
        return listed([...space.links.values()].map((link) => this.#shown(link)));
      if (rest === "-j route show") return listed(routesOf(space));
      if (rest !== "-batch -") throw new Refused(`this machine does not know ${text}`);
    } else if (program === "ip" && option === "netns" && words[2] === "exec") {
      const space = this.#namespace(words[3] ?? "");
      const rest = words.slice(4);
      if (rest.join(" ") === "nft -j list ruleset") return space.rules.list();
      if (rest[0] === "sysctl" && rest[1] === "-e")
        return rest
          .slice(2)
          .filter((key) => isKnown(space, key))
          .map((key) => `${key} = ${space.settings.get(key) ?? kernelDefault(key)}\n`)
          .join("");
    }
    this.journal.push({ words: words as Command["words"], input });
    this.#change(words, input);
    return "";
  }

  #change(words: readonly string[], input: string): void {
    const [program, what = "", verb = ""] = words;
    if (program !== "ip") throw new Refused(`${program}: not found`);
    if (what === "-n") {
      const space = this.#namespace(verb);
      // A batch runs line by line: the lines before a failure stay done.
      for (const line of input.split("\n").filter((each) => each !== ""))
        this.#inside(space, line.split(" "));
    } else if (what === "netns") this.#netns(verb, words[3] ?? "", words.slice(4), input);
    else if (what === "link" && verb === "add") this.#addLink(words.slice(3));
    else if (what === "link" && verb === "set") {
      const link = this.#outside.get(words[4] ?? "");
      if (link === undefined) throw new Refused(`Cannot find device "${words[4]}"`);
      const master = after(words, "master");
      if (master !== null && !this.#outside.has(master)) throw new Refused(`Cannot find device "${master}"`);
      if (master !== null) link.master = master;
      if (words.includes("up")) link.isUp = true;
    } else throw new Refused(`this machine does not know ${words.join(" ")}`);
  }

  #netns(verb: string, name: string, more: readonly string[], input: string): void {
    if (verb === "add") {
      if (this.#namespaces.has(name))
        throw new Refused(`Cannot create namespace file "/run/netns/${name}": File exists`);
      this.#namespaces.set(name, {
        links: new Map(),
        default: null,
        settings: new Map(),
        rules: new MemoryRuleset(),
      });
    } else if (verb === "del") {
      const space = this.#namespaces.get(name);
      if (space === undefined)
        throw new Refused(`Cannot remove namespace file "/run/netns/${name}": No such file or directory`);
      this.#namespaces.delete(name);
      this.#lingering.push({
        links: [...space.links.values()],
        until: this.#commands + lingerCommands,
      });
    } else if (verb === "exec") {
      const space = this.#namespace(name);
      if (more[0] === "sysctl") {
        for (const pair of more.slice(3)) {
          const [key = "", value = ""] = pair.split("=");
          if (!isKnown(space, key))
            throw new Refused(`sysctl: cannot stat ${key}: No such file or directory`);
          space.settings.set(key, value);
        }
      } else if (more.join(" ") === "sh -c cat | nft -j -f -") refuseIf(space.rules.apply(input));
      else throw new Refused(`${more[0]}: not found`);
    } else throw new Refused(`Command "${verb}" is unknown, try "ip netns help".`);
  }

  #inside(space: Namespace, words: readonly string[]): void {
    const [what, verb] = words;
    const device = after(words, "dev") ?? "";
    const link = space.links.get(device);
    if (link === undefined) throw new Refused(`Cannot find device "${device}"`);
    const address = words[2] ?? "";
    if (what === "link" && verb === "del") this.#removeLink(space, link);
    else if (what === "link" && verb === "set") link.isUp = true;
    else if (what === "addr" && verb === "del") {
      const at = link.addresses.indexOf(address);
      if (at < 0) throw new Refused("RTNETLINK answers: Cannot assign requested address");
      link.addresses.splice(at, 1);
    } else if (what === "addr" && verb === "replace") {
      if (!link.addresses.includes(address)) link.addresses.push(address);
    } else if (what === "route" && verb === "replace") {
      if (!link.isUp) throw new Refused("Error: Nexthop device is not up.");
      space.default = { via: after(words, "via") ?? "", device };
    } else if (what === "route" && verb === "del") {
      if (space.default?.device !== device) throw new Refused("RTNETLINK answers: No such process");
      space.default = null;
    } else throw new Refused(`this machine does not know ${words.join(" ")}`);
  }

  #removeLink(space: Namespace, link: Link): void {
    space.links.delete(link.name);
    for (const key of space.settings.keys()) if (linkOf(key) === link.name) space.settings.delete(key);
    if (space.default?.device === link.name) space.default = null;
    if (link.kind !== "veth") return;
    for (const [name, end] of this.#outside) if (end.ifindex === link.on) this.#outside.delete(name);
  }

  #addLink(words: readonly string[]): void {
    const kind = after(words, "type") ?? "";
    const vlanText = after(words, "id");
    const vlan = vlanText === null ? null : Number(vlanText);
    const parentName = after(words, "link");
    const parent = parentName === null ? null : (this.#outside.get(parentName) ?? null);
    if (parentName !== null && parent === null) throw new Refused(`Cannot find device "${parentName}"`);
    if (vlan !== null && parent !== null && this.#hasVlan(parent.ifindex, vlan))
      throw new Refused("RTNETLINK answers: File exists");
    const home = after(words, "netns");
    if (home === null) {
      const name = after(words, "name") ?? "";
      if (this.#outside.has(name)) throw new Refused("RTNETLINK answers: File exists");
      this.#addOutside(name, kind, vlan, parent?.ifindex ?? null);
      return;
    }
    const space = this.#namespaces.get(home);
    if (space === undefined) throw new Refused(`Error: argument "${home}" is wrong: Invalid "netns" value`);
    const port = kind === "veth" ? (after(words, "name") ?? "") : null;
    const inner = kind === "veth" ? words.slice(words.indexOf("peer")) : words;
    const name = after(inner, "name") ?? "";
    if (space.links.has(name) || (port !== null && this.#outside.has(port)))
      throw new Refused("RTNETLINK answers: File exists");
    this.#indexes += 1;
    const ifindex = this.#indexes;
    const on = port === null ? (parent?.ifindex ?? null) : this.#addOutside(port, "veth", null, ifindex);
    const mac = after(inner, "address") ?? "";
    space.links.set(name, { ifindex, name, kind, mac, vlan, on, master: null, isUp: false, addresses: [] });
  }

  #addOutside(name: string, kind: string, vlan: number | null, on: number | null): number {
    this.#indexes += 1;
    const link = {
      ifindex: this.#indexes,
      name,
      kind,
      mac: "",
      vlan,
      on,
      master: null,
      isUp: false,
      addresses: [],
    };
    this.#outside.set(name, link);
    return link.ifindex;
  }

  /** A VLAN of an interface is one link's, in whatever namespace that is, and as long as it lingers. */
  #hasVlan(parent: number, vlan: number): boolean {
    const all = [
      ...this.#outside.values(),
      ...[...this.#namespaces.values()].flatMap(({ links }) => [...links.values()]),
      ...this.#lingering.flatMap(({ links }) => links),
    ];
    return all.some((link) => link.kind === "vlan" && link.on === parent && link.vlan === vlan);
  }

  #namespace(name: string): Namespace {
    const space = this.#namespaces.get(name);
    if (space === undefined)
      throw new Refused(`Cannot open network namespace "${name}": No such file or directory`);
    return space;
  }

  #shown(link: Link): object {
    return {
      ifname: link.name,
      ifindex: link.ifindex,
      address: link.mac,
      flags: link.isUp ? ["BROADCAST", "UP"] : ["BROADCAST"],
      ...(link.on === null ? {} : { link_index: link.on }),
      ...(link.master === null ? {} : { master: link.master }),
      linkinfo: { info_kind: link.kind, ...(link.vlan === null ? {} : { info_data: { id: link.vlan } }) },
      addr_info: link.addresses.map((address) => {
        const [local = "", length = ""] = address.split("/");
        return { family: "inet", local, prefixlen: Number(length) };
      }),
    };
  }
}

/** The link that a setting is about; null when it is about none. */
function linkOf(key: string): string | null {
  const name = /^net\.ipv4\.(?:conf|neigh)\.([^.]+)\./.exec(key)?.[1] ?? "all";
  return name === "all" || name === "default" ? null : name;
}

const isKnown = ({ links }: Namespace, key: string): boolean => {
  const name = linkOf(key);
  return name === null || links.has(name);
};

/** The networks of a link's addresses are reached by it, once it is up. */
function routesOf(space: Namespace): object[] {
  const connected = [...space.links.values()].flatMap(({ name, isUp, addresses }) =>
    isUp ? addresses.map((address) => ({ dst: address, dev: name })) : [],
  );
  const out = space.default;
  return out === null ? connected : [{ dst: "default", gateway: out.via, dev: out.device }, ...connected];
}

/** `ip -j` prints nothing at all for an empty list. */
const listed = (items: readonly object[]): string => (items.length === 0 ? "" : JSON.stringify(items));

function after(words: readonly string[], word: string): string | null {
  const at = words.indexOf(word);
  return at < 0 ? null : (words[at + 1] ?? null);
}

function refuseIf(complaint: string | null): void {
  if (complaint !== null) throw new Refused(complaint);
}
