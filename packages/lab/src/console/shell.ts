import type { VmDocument } from "../documents.ts";
import { sshKeyLines } from "../vm/cloud-init.ts";
import { type GuestFacts, guestFacts, ipAddressText, ipRouteText } from "./guest-facts.ts";
import { type NetworkCommand, networkCommand, type Refusal } from "./network-commands.ts";

/**
 * The next effect of a command: print, let time pass, or run on the machine's network, which returns its exit
 * code.
 */
export type Output = string | { readonly pauseSeconds: number } | { readonly onNetwork: NetworkCommand };

/** The machine as a shell uses it. */
export interface Machine {
  readonly vm: VmDocument;
  readonly nowMs: number;
  /** When this boot began. */
  readonly bootedAtMs: number;
  /** Why it has no network; null when it has one. */
  readonly withoutWires: string | null;
}

/** The effect of a line other than its output. */
export type Afterwards = "stay" | "clear" | "logout" | "reboot" | "poweroff";

const HELP = `Commands: cat cd clear cloud-init date df echo exit free head help history hostname id ls poweroff ps pwd
          reboot seq shutdown sleep sudo true uname uptime whoami yes
Network:  ip address | route | neigh | link      what this server has; ip route get ADDRESS
          ping [-c COUNT] ADDRESS                Ctrl+C ends it
          curl http://ADDRESS[:PORT]/            and its other end: python3 -m http.server PORT
          nc [-uvz] ADDRESS PORT                 and its other end: nc -l [-uv] PORT
          ss -tuln                               what listens here
`;

/** A shell with a handful of commands: enough for a person to see that the machine works. */
export class Shell {
  readonly #user: string;
  #directory: string;
  #status = 0;

  constructor(user: string) {
    this.#user = user;
    this.#directory = home(user);
  }

  prompt(machine: Machine): string {
    const place = this.#directory === home(this.#user) ? "~" : this.#directory;
    const sign = this.#user === "root" ? "#" : "$";
    return `${this.#user}@${guestFacts(machine.vm).hostname}:${place}${sign} `;
  }

  /** Runs a line; `;` and `&&` separate commands. */
  *run(line: string, machine: Machine, history: readonly string[]): Generator<Output, Afterwards, number> {
    for (const part of line.split(/;|(?=&&)/)) {
      const needed = part.startsWith("&&");
      if (needed && this.#status !== 0) continue;
      const words = splitWords(part.replace(/^&&/, ""), { status: this.#status, user: this.#user });
      if (words.length === 0) continue;
      this.#status = 0;
      const next = yield* this.#command(words, machine, history);
      if (next !== "stay") return next;
    }
    return "stay";
  }

  *#command(
    words: readonly string[],
    machine: Machine,
    history: readonly string[],
  ): Generator<Output, Afterwards, number> {
    const [name = "", ...args] = words[0] === "sudo" ? words.slice(1) : words;
    const facts = guestFacts(machine.vm);
    switch (name) {
      case "exit":
      case "logout":
        yield "logout\n";
        return "logout";
      case "clear":
        return "clear";
      case "reboot":
        return "reboot";
      case "poweroff":
      case "halt":
        return "poweroff";
      case "shutdown":
        return args.includes("-r") ? "reboot" : "poweroff";
      case "yes": {
        const block = `${args.join(" ") || "y"}\n`.repeat(512);
        for (;;) yield block;
      }
      case "seq": {
        const last = Math.min(Number(args.at(-1) ?? "1"), 10_000_000);
        for (let n = args.length > 1 ? Number(args[0]) : 1; n <= last; n += 1) yield `${n}\n`;
        return "stay";
      }
      case "sleep":
        yield { pauseSeconds: Math.min(Number(args[0] ?? "0") || 0, 3600) };
        return "stay";
      case "history":
        yield history.map((line, index) => `${String(index + 1).padStart(5)}  ${line}\n`).join("");
        return "stay";
      case "cd":
        yield this.#changeDirectory(args[0], machine, facts);
        return "stay";
      case "ls":
        yield this.#list(args, machine, facts);
        return "stay";
      case "cat":
      case "head":
        yield this.#concatenate(name, args, machine, facts);
        return "stay";
      case "false":
        this.#status = 1;
        return "stay";
      default: {
        const network = networkCommand([name, ...args], facts.hostname);
        if (network === null || (name === "ip" && machine.withoutWires !== null))
          yield this.#simple(name, args, machine, facts);
        else yield* this.#onNetwork(network, machine);
        return "stay";
      }
    }
  }

  *#onNetwork(asked: NetworkCommand | Refusal, { withoutWires }: Machine): Generator<Output, void, number> {
    if ("complaint" in asked) {
      this.#status = asked.exitCode;
      yield asked.complaint;
    } else if (withoutWires !== null) {
      this.#status = 2;
      yield `${asked.name}: the machines of this lab have no network: ${withoutWires}\n`;
    } else this.#status = yield { onNetwork: asked };
  }

  #simple(name: string, args: readonly string[], machine: Machine, facts: GuestFacts): string {
    const { vm, nowMs, bootedAtMs } = machine;
    const up = Math.max(0, Math.floor((nowMs - bootedAtMs) / 1000));
    switch (name) {
      case "":
      case "true":
        return "";
      case "help":
        return HELP;
      case "echo":
        return `${args.join(" ")}\n`;
      case "pwd":
        return `${this.#directory}\n`;
      case "whoami":
        return `${this.#user}\n`;
      case "id":
        return this.#user === "root"
          ? "uid=0(root) gid=0(root)\n"
          : `uid=1000(${this.#user}) gid=1000(${this.#user})\n`;
      case "hostname":
        return `${facts.hostname}\n`;
      case "uname":
        return args.includes("-a") ? `Linux ${facts.hostname} 6.8.0-lab x86_64 GNU/Linux\n` : "Linux\n";
      case "date":
        return `${new Date(nowMs).toUTCString()}\n`;
      case "uptime": {
        const clock = new Date(nowMs).toISOString().slice(11, 19);
        const days = Math.floor(up / 86_400);
        const time = `${Math.floor(up / 3600) % 24}:${String(Math.floor(up / 60) % 60).padStart(2, "0")}`;
        return ` ${clock} up ${days > 0 ? `${days} days, ` : ""}${time},  1 user,  load average: 0.08, 0.03, 0.01\n`;
      }
      case "ip": {
        const what = args.find((each) => !each.startsWith("-")) ?? "";
        if (/^a/.test(what)) return `${ipAddressText(vm)}\n`;
        if (/^r/.test(what)) return `${ipRouteText(vm)}\n`;
        return "Usage: ip { address | route }\n";
      }
      case "free": {
        const total = facts.memoryMb * 1024;
        const used = Math.round(total * 0.11);
        return `               total        used        free\nMem:    ${[total, used, total - used].map((n) => String(n).padStart(12)).join("")}\n`;
      }
      case "df":
        return `Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       ${facts.diskGib}G  1.9G   ${Math.max(0, facts.diskGib - 2)}G   ${Math.round(190 / Math.max(2, facts.diskGib))}% /\n`;
      case "ps":
        return "    PID TTY          TIME CMD\n      1 ?        00:00:01 systemd\n    412 ttyS0    00:00:00 bash\n    431 ttyS0    00:00:00 ps\n";
      case "cloud-init":
        return vm.drive === null ? "status: disabled\n" : "status: done\n";
      default:
        this.#status = 127;
        return `-bash: ${name}: command not found\n`;
    }
  }

  #changeDirectory(target: string | undefined, machine: Machine, facts: GuestFacts): string {
    const path = this.#absolute(target ?? home(this.#user));
    const files = filesOf(this.#user, machine, facts);
    if (path === "/" || [...files.keys()].some((file) => file.startsWith(`${path}/`))) {
      this.#directory = path;
      return "";
    }
    this.#status = 1;
    return `-bash: cd: ${target}: No such file or directory\n`;
  }

  #list(args: readonly string[], machine: Machine, facts: GuestFacts): string {
    const all = args.some((each) => /^-\w*a/.test(each));
    const target = args.find((each) => !each.startsWith("-"));
    const path = this.#absolute(target ?? this.#directory);
    const files = filesOf(this.#user, machine, facts);
    if (files.has(path)) return `${target}\n`;
    const start = path === "/" ? "/" : `${path}/`;
    const names = [...files.keys()].filter((file) => file.startsWith(start));
    if (names.length === 0) {
      this.#status = 2;
      return `ls: cannot access '${target}': No such file or directory\n`;
    }
    const here = new Set(names.map((file) => file.slice(start.length).split("/")[0] ?? ""));
    const shown = [...here].filter((each) => each !== "" && (all || !each.startsWith("."))).sort();
    return shown.length === 0 ? "" : `${shown.join("  ")}\n`;
  }

  #concatenate(name: string, args: readonly string[], machine: Machine, facts: GuestFacts): string {
    const files = filesOf(this.#user, machine, facts);
    return args
      .filter((each) => !each.startsWith("-"))
      .map((target) => {
        const text = files.get(this.#absolute(target));
        if (text !== undefined) return name === "head" ? `${text.split("\n").slice(0, 10).join("\n")}` : text;
        this.#status = 1;
        return `${name}: ${target}: No such file or directory\n`;
      })
      .join("");
  }

  #absolute(path: string): string {
    const expanded = path.replace(/^~/, home(this.#user));
    const parts = (expanded.startsWith("/") ? expanded : `${this.#directory}/${expanded}`).split("/");
    const result: string[] = [];
    for (const part of parts) {
      if (part === "..") result.pop();
      else if (part !== "" && part !== ".") result.push(part);
    }
    return `/${result.join("/")}`;
  }
}

const home = (user: string): string => (user === "root" ? "/root" : `/home/${user}`);

/** Words of a line: quotes hold together, `$?` and `$USER` are filled in. */
function splitWords(line: string, values: { readonly status: number; readonly user: string }): string[] {
  const filled = line.replaceAll("$?", String(values.status)).replaceAll("$USER", values.user);
  return [...filled.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
}

/** The few files that exist, generated from the machine's state. */
function filesOf(user: string, { vm, nowMs, bootedAtMs }: Machine, facts: GuestFacts): Map<string, string> {
  const { os, hostname } = facts;
  const up = Math.max(0, (nowMs - bootedAtMs) / 1000).toFixed(2);
  return new Map([
    [
      "/etc/os-release",
      `PRETTY_NAME="${os.pretty}"\nNAME="${os.name}"\nVERSION_ID="${os.version}"\nID=${os.id}\n`,
    ],
    ["/etc/hostname", `${hostname}\n`],
    ["/etc/hosts", `127.0.0.1 localhost\n127.0.1.1 ${hostname}\n`],
    ["/proc/uptime", `${up} ${up}\n`],
    ["/proc/meminfo", `MemTotal: ${facts.memoryMb * 1024} kB\n`],
    ["/var/log/cloud-init.log", "cloud-init: all modules ran\n"],
    [`${home(user)}/.bashrc`, "# ~/.bashrc\n"],
    [
      `${home(user)}/.ssh/authorized_keys`,
      sshKeyLines(vm.config)
        .map((key) => `${key}\n`)
        .join(""),
    ],
    [`${home(user)}/README`, "This machine is simulated by Kule's lab. Try: help\n"],
  ]);
}
