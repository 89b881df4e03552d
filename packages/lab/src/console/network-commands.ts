import { isIP } from "node:net";
import { type NetworkTask, taskArguments } from "./network-task.ts";

/** A command that runs in a machine's own network: one of few programs, with validated arguments. */
export type NetworkCommand = {
  /** The name that the person types. */
  readonly name: string;
  readonly words: readonly string[];
  /** Whether it reads what is typed while it runs. */
  readonly takesInput: boolean;
  /** Whether its output mentions the lab's own end of the cables. */
  readonly speaksOfCables: boolean;
  /** It drops its own rights once it runs: its program may be where other users may not read. */
  readonly dropsRights: boolean;
};

/** A line of the person's that means nothing; what to print, and the exit code. */
export type Refusal = { readonly complaint: string; readonly exitCode: number };

/** Letters that are options, with what a value of theirs must be; null for those without. */
type Options = Readonly<Record<string, { readonly least: number; readonly most: number } | null>>;

const programs: Readonly<Record<string, (args: readonly string[], hostname: string) => NetworkCommand>> = {
  ping,
  ip,
  ss,
  nc: netcat,
  netcat,
  curl,
  python3: webServer,
};

/**
 * The command for these words; null when it is none of the network's. No typed word is passed on unchanged.
 */
export function networkCommand(words: readonly string[], hostname: string): NetworkCommand | Refusal | null {
  const [name = "", ...args] = words;
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) return null;
  try {
    return program(args, hostname);
  } catch (error) {
    if (error instanceof Refused) return { complaint: `${error.message}\n`, exitCode: error.exitCode };
    throw error;
  }
}

class Refused extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

const command = (
  name: string,
  words: readonly string[],
  more: Partial<NetworkCommand> = {},
): NetworkCommand => ({
  name,
  words,
  takesInput: false,
  speaksOfCables: false,
  dropsRights: false,
  ...more,
});

const task = (name: string, what: NetworkTask, takesInput = false): NetworkCommand =>
  command(name, taskArguments(what), { takesInput, dropsRights: true });

const pingOptions: Options = {
  n: null,
  q: null,
  4: null,
  6: null,
  c: { least: 1, most: 10_000 },
  i: { least: 0.2, most: 60 },
  s: { least: 0, most: 65_000 },
  t: { least: 1, most: 255 },
  W: { least: 1, most: 60 },
  w: { least: 1, most: 600 },
};

function ping(args: readonly string[]): NetworkCommand {
  const { options, rest } = readOptions("ping", args, pingOptions);
  const [target, ...more] = rest;
  if (target === undefined || more.length > 0) throw new Refused("Usage: ping [-c count] address");
  if (!isAddress(target)) throw new Refused(`ping: ${target}: Temporary failure in name resolution`);
  const wait = options.has("W") ? [] : ["-W", "1"];
  const given = [...options].flatMap(([letter, value]) =>
    value === null ? [`-${letter}`] : [`-${letter}`, value],
  );
  return command("ping", ["ping", "-n", ...wait, ...given, target]);
}

const ipObjects = [
  ["address", /^a(ddr?|ddress)?$/],
  ["route", /^r(o|oute)?$/],
  ["neigh", /^n(eigh|eighbou?r)?$/],
  ["link", /^l(ink)?$/],
] as const;

const ipUsage = `Usage: ip [ -4 | -6 | -br ] { address | route | neigh | link }
       ip route get ADDRESS
What a server has is for its cloud to say: this console shows it, and changes nothing.`;

function ip(args: readonly string[]): NetworkCommand {
  const flags = args.filter((each) => each.startsWith("-"));
  const [what = "", verb = "show", target, ...more] = args.filter((each) => !each.startsWith("-"));
  const object = ipObjects.find(([, pattern]) => pattern.test(what))?.[0];
  if (object === undefined || more.length > 0) throw new Refused(ipUsage);
  if (flags.some((each) => !["-4", "-6", "-br"].includes(each))) throw new Refused(ipUsage);
  const known = { speaksOfCables: true };
  if (verb === "get" && object === "route" && target !== undefined && isAddress(target))
    return command("ip", ["ip", ...flags, "route", "get", target], known);
  if (!/^(s|sh|show|list|ls)$/.test(verb) || target !== undefined) throw new Refused(ipUsage);
  return command("ip", ["ip", ...flags, object, "show"], known);
}

const ssOptions: Options = Object.fromEntries([..."tulnap46"].map((letter) => [letter, null]));

function ss(args: readonly string[]): NetworkCommand {
  const { options, rest } = readOptions("ss", args, ssOptions);
  if (rest.length > 0) throw new Refused("Usage: ss [-t] [-u] [-l] [-n] [-a] [-4] [-6]", 1);
  // The processes behind them are the lab's own, and are not shown.
  const letters = [...options.keys()].filter((letter) => letter !== "p" && letter !== "n");
  return command("ss", ["ss", "-n", ...letters.map((letter) => `-${letter}`)]);
}

const seconds = { least: 1, most: 600 };
const port = { least: 1, most: 65_535 };
const netcatOptions: Options = {
  l: null,
  u: null,
  v: null,
  z: null,
  n: null,
  4: null,
  6: null,
  w: seconds,
  p: port,
};
const netcatUsage = "usage: nc [-uvz] [-w seconds] address port\n       nc -l [-uv] port";

function netcat(args: readonly string[]): NetworkCommand {
  const { options, rest } = readOptions("nc", args, netcatOptions);
  const protocol = options.has("u") ? "udp" : "tcp";
  const isVerbose = options.has("v");
  if (options.has("l")) {
    const places = [...(options.has("p") ? [options.get("p") ?? ""] : []), ...rest];
    // An address before the port is one to listen at; all of a guest's are.
    const at = places.at(-1);
    if (at === undefined || places.length > 2) throw new Refused(netcatUsage, 1);
    return task("nc", { do: "listen", port: portOf("nc", at), protocol, isVerbose }, true);
  }
  const [host, at, ...more] = rest;
  if (host === undefined || at === undefined || more.length > 0) throw new Refused(netcatUsage, 1);
  if (!isAddress(host))
    throw new Refused(
      `nc: getaddrinfo for host "${host}" port ${at}: Temporary failure in name resolution`,
      1,
    );
  const to = {
    host,
    port: portOf("nc", at),
    seconds: Number(options.get("w") ?? (options.has("z") ? 5 : 30)),
  };
  if (options.has("z")) {
    if (protocol === "udp") throw new Refused("nc: a UDP port does not say that it is open", 1);
    return task("nc", { do: "knock", to });
  }
  return task("nc", { do: "talk", to, protocol, isVerbose }, true);
}

const curlOptions: Options = { s: null, S: null, i: null, I: null, v: null, 4: null, 6: null, m: seconds };

function curl(args: readonly string[]): NetworkCommand {
  const short = args.map((each) => (each === "--max-time" || each === "--connect-timeout" ? "-m" : each));
  const { options, rest } = readOptions("curl", short, curlOptions);
  const [text, ...more] = rest;
  if (text === undefined || more.length > 0)
    throw new Refused("curl: try 'curl [-i] [-m seconds] http://address[:port]/path'");
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null) throw new Refused("curl: (3) URL rejected: Bad hostname", 3);
  if (url.protocol !== "http:")
    throw new Refused(`curl: (1) Protocol "${url.protocol.slice(0, -1)}" not supported`, 1);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!isAddress(host)) throw new Refused(`curl: (6) Could not resolve host: ${host}`, 6);
  const show = options.has("I") ? "head" : options.has("i") || options.has("v") ? "both" : "body";
  return task("curl", {
    do: "get",
    to: { host, port: url.port === "" ? 80 : Number(url.port), seconds: Number(options.get("m") ?? 10) },
    path: `${url.pathname}${url.search}`,
    show,
  });
}

function webServer(args: readonly string[], hostname: string): NetworkCommand {
  const [flag, module, at = "8000", ...more] = args;
  if (flag !== "-m" || module !== "http.server" || more.length > 0)
    throw new Refused("python3: of it there is only: python3 -m http.server [port]", 1);
  return task("python3", { do: "serve", port: portOf("python3", at), name: hostname });
}

function readOptions(
  name: string,
  args: readonly string[],
  known: Options,
): { readonly options: ReadonlyMap<string, string | null>; readonly rest: readonly string[] } {
  const options = new Map<string, string | null>();
  const rest: string[] = [];
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (!/^-./.test(arg)) {
      rest.push(arg);
      continue;
    }
    for (let at = 1; at < arg.length; at += 1) {
      const letter = arg[at] ?? "";
      const range = Object.hasOwn(known, letter) ? known[letter] : undefined;
      if (range === undefined) throw new Refused(`${name}: invalid option -- '${letter}'`);
      if (range === null) {
        options.set(letter, null);
        continue;
      }
      const value = arg.slice(at + 1) || left.shift();
      if (value === undefined) throw new Refused(`${name}: option requires an argument -- '${letter}'`);
      options.set(letter, numberIn(name, value, range));
      break;
    }
  }
  return { options, rest };
}

function numberIn(name: string, text: string, { least, most }: { least: number; most: number }): string {
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text) || Number(text) < least || Number(text) > most)
    throw new Refused(`${name}: invalid argument: '${text}': out of range: ${least} <= value <= ${most}`);
  return text;
}

function portOf(name: string, text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < port.least || Number(text) > port.most)
    throw new Refused(`${name}: port number invalid: ${text}`, 1);
  return Number(text);
}

/** With a zone only that of an interface of the guest's. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && /^[^%]+(%eth\d{1,2})?$/.test(text);
