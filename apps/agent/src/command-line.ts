// The commands of kule-agent, with their options and help.

import { parseArgs } from "node:util";
import { isVersion } from "@kule/agent-release/version";
import { AGENT_VERSION } from "./version.ts";

export type Call =
  | { readonly command: "run"; readonly path: string; readonly mode: "service" | "once" | "dry run" }
  | { readonly command: "check" | "images"; readonly path: string }
  | { readonly command: "conformance"; readonly path: string | null }
  | { readonly command: "status"; readonly state: string | null; readonly json: boolean }
  | {
      readonly command: "install";
      readonly root: string;
      readonly dryRun: boolean;
      readonly start: boolean;
    }
  | {
      readonly command: "enrol";
      readonly address: string;
      readonly code: string;
      readonly name: string | null;
      readonly root: string;
    }
  | { readonly command: "update"; readonly to: string | null; readonly root: string }
  /** Of the agent's own processes. */
  | { readonly command: "apply-update"; readonly root: string }
  | { readonly command: "check-self" | "reach"; readonly path: string }
  | { readonly command: "check-update"; readonly path: string; readonly root: string }
  | {
      readonly command: "uninstall";
      readonly root: string;
      readonly dryRun: boolean;
      readonly purge: boolean;
    };

/** What is printed instead of doing something. */
export type Print = { readonly text: string; readonly isError: boolean };

type Given = {
  flag(name: string): boolean;
  value(name: string): string | null;
  readonly words: readonly string[];
};

type Command = {
  /** After the name. */
  readonly usage: string;
  readonly about: string;
  readonly more?: string;
  /** Options without a value, and what each does. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Options with a value. */
  readonly values?: Readonly<Record<string, string>>;
  readonly words: { readonly least: number; readonly most: number };
  /** Called by the agent's own processes: in no list. */
  readonly isOwn?: true;
  /** The call, or what is wrong. */
  readonly call: (given: Given) => Call | string;
};

const REGION_FILE = { least: 1, most: 1 } as const;
const first = ({ words }: Given): string => words[0] ?? "";
const rootOption = {
  root: "a folder that stands for /: files are written below it, no command is run, and no right is needed",
};

const COMMANDS: Readonly<Record<string, Command>> = {
  run: {
    usage: "<region.yaml> [--once | --dry-run]",
    about: "take jobs and run them until SIGTERM",
    flags: {
      once: "report health, run the jobs that wait to their ends, and end",
      "dry-run": "print the next steps of the jobs that wait, change nothing, and end",
    },
    more: `A job of --dry-run is claimed, planned and handed back: for that moment its record says that it runs, and no
attempt is counted. Every call that would change the hypervisor is refused before it is sent.`,
    words: REGION_FILE,
    call: (given) => {
      if (given.flag("once") && given.flag("dry-run")) return "--once and --dry-run exclude each other";
      const mode = given.flag("once") ? "once" : given.flag("dry-run") ? "dry run" : "service";
      return { command: "run", path: first(given), mode };
    },
  },
  check: {
    usage: "<region.yaml>",
    about: "look at everything the region file names, print what is wrong and how to fix it",
    more: "Changes nothing.",
    words: REGION_FILE,
    call: (given) => ({ command: "check", path: first(given) }),
  },
  status: {
    usage: "[--state DIR] [--json]",
    about: "what the agent on this machine does now, and what the control plane last answered",
    flags: { json: "for programs" },
    values: { state: "the agent's state folder (default: KULE_AGENT_STATE, or /var/lib/kule-agent)" },
    more: "Exit status 3: no agent runs.",
    words: { least: 0, most: 0 },
    call: (given) => ({ command: "status", state: given.value("state"), json: given.flag("json") }),
  },
  images: {
    usage: "<region.yaml>",
    about: "list the templates that the region file names, and how to make those that are missing",
    words: REGION_FILE,
    call: (given) => ({ command: "images", path: first(given) }),
  },
  install: {
    usage: "[--dry-run] [--no-start] [--root DIR]",
    about: "install this binary as a service: user, folders, files for settings, unit; and start it",
    flags: {
      "dry-run": "print what would be done, and do nothing",
      "no-start": "neither start nor restart the service",
    },
    values: rootOption,
    more: `It can be repeated, also with a newer binary: what is as it should be stays, and files with your settings are never
written again. The service is started when its settings are complete.`,
    words: { least: 0, most: 0 },
    call: (given) => ({
      command: "install",
      root: given.value("root") ?? "/",
      dryRun: given.flag("dry-run"),
      start: !given.flag("no-start"),
    }),
  },
  enrol: {
    usage: "<api-address> <code> [--name NAME] [--root DIR]",
    about: "get this agent's token with a code that an operator has created",
    values: {
      name: "how the token is called in the panel (default: this machine's name)",
      root: "a folder that stands for /, as with install",
    },
    more: `The code is on the region's page of the panel (Operator, Regions, Settings and tokens). The token is written into
/etc/kule/agent.env, and never shown.`,
    words: { least: 2, most: 2 },
    call: (given) => ({
      command: "enrol",
      address: first(given),
      code: given.words[1] ?? "",
      name: given.value("name"),
      root: given.value("root") ?? "/",
    }),
  },
  update: {
    usage: "--check | --to VERSION [--root DIR]",
    about: "what the control plane offers and whether it would be taken, or an update now",
    flags: { check: "ask the control plane, verify what it offers, and change nothing" },
    values: {
      to: "update the agent that runs to this version: it takes no more jobs, waits for those that it has, and is replaced",
      ...rootOption,
    },
    more: `As root. The agent updates itself when the control plane says so; --to does not wait for that. In both ways the release
has to be signed by the publisher whose keys are in this binary, and an update that does not work is taken back.`,
    words: { least: 0, most: 0 },
    call: (given) => {
      const to = given.value("to");
      const root = given.value("root") ?? "/";
      if (given.flag("check") === (to !== null)) return "update needs --check or --to VERSION";
      if (to !== null && !isVersion(to)) return `--to is a version such as 1.4.0, not ${to}`;
      return { command: "update", to, root };
    },
  },
  "apply-update": {
    usage: "[--root DIR]",
    about:
      "end the update that is under way, or begin the one that the agent asks for: the unit kule-agent-update runs it",
    values: rootOption,
    words: { least: 0, most: 0 },
    isOwn: true,
    call: (given) => ({ command: "apply-update", root: given.value("root") ?? "/" }),
  },
  "check-self": {
    usage: "<region.yaml>",
    about: "load the settings as the agent does, and ask nobody: the updater calls it of a new version",
    words: REGION_FILE,
    isOwn: true,
    call: (given) => ({ command: "check-self", path: first(given) }),
  },
  reach: {
    usage: "<region.yaml>",
    about:
      "ask the control plane whether it takes this agent's calls: the updater calls it of the former version",
    words: REGION_FILE,
    isOwn: true,
    call: (given) => ({ command: "reach", path: first(given) }),
  },
  "check-update": {
    usage: "<region.yaml> [--root DIR]",
    about: "what update --check prints, as the agent's user",
    values: rootOption,
    words: REGION_FILE,
    isOwn: true,
    call: (given) => ({ command: "check-update", path: first(given), root: given.value("root") ?? "/" }),
  },
  uninstall: {
    usage: "[--dry-run] [--purge] [--root DIR]",
    about: "stop the service and remove what install made; your settings and the agent's key stay",
    flags: {
      "dry-run": "print what would be done, and do nothing",
      purge: "remove the settings, the tokens and the agent's key too: what is sealed to that key is lost",
    },
    values: rootOption,
    words: { least: 0, most: 0 },
    call: (given) => ({
      command: "uninstall",
      root: given.value("root") ?? "/",
      dryRun: given.flag("dry-run"),
      purge: given.flag("purge"),
    }),
  },
  conformance: {
    usage: "[region.yaml]",
    about: "try every call of the driver on a TEST cluster, print where the answers differ",
    words: { least: 0, most: 1 },
    call: ({ words }) => ({ command: "conformance", path: words[0] ?? null }),
  },
};

const HELP = `kule-agent ${AGENT_VERSION}: drives one region for the Kule control plane

${Object.entries(COMMANDS)
  .filter(([, { isOwn }]) => isOwn !== true)
  .map(([name, { usage, about }]) => `  kule-agent ${name} ${usage}\n      ${about}`)
  .join("\n")}
  kule-agent <command> --help
  kule-agent --version

Environment
  KULE_AGENT_TOKEN            the agent's token, unless control_plane names another place
  KULE_PVE_TOKEN              or whatever hypervisor.token_env names: USER@REALM!NAME=SECRET
  KULE_AGENT_CONCURRENCY      jobs at the same time (default: agent.concurrency, 4)
  KULE_AGENT_HEALTH_SECONDS   seconds between health reports (default: agent.health_seconds, 20)
  KULE_AGENT_INVENTORY_SECONDS  seconds between two looks at the region (default: agent.inventory_seconds, 30)
  KULE_AGENT_STATE            folder of the key pair (default: agent.state_dir, .kule-agent beside the region file)
  KULE_LOG_LEVEL              trace, debug, info, warn, error (default: info)
  KULE_PVE_URL, _FINGERPRINT or _CA, _STORAGE, _BRIDGE, _TEMPLATE
                              for conformance, where there is no region file or another one is meant
  KULE_PVE_VMIDS              for conformance: VM numbers that it may destroy, 29990-29995; nobody may have them
  KULE_PVE_AGENT_SECONDS      for conformance: until the guest's agent answers (default: 180)
  NODE_EXTRA_CA_CERTS         PEM file with the certificate authority of a private control plane

Exit status
  0  done, or everything is in order    1  something is wrong, or the agent broke
  2  not called as above                3  status: no agent runs
  78 the configuration cannot be used
`;

/** What is to be done, or what to print. Never throws. */
export function parseCommandLine(args: readonly string[]): Call | Print {
  const [name, ...rest] = args;
  if (name === undefined) return { text: HELP, isError: true };
  if (name === "--help" || name === "-h") return { text: HELP, isError: false };
  if (name === "--version" || name === "-V") return { text: `${AGENT_VERSION}\n`, isError: false };
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const what = name.startsWith("-") ? `there is no option ${name}` : `there is no command ${name}`;
    return { text: `${what}\n\n${HELP}`, isError: true };
  }
  const wrong = (what: string): Print => ({ text: `${what}\n\n${helpOf(name, command)}`, isError: true });
  try {
    const options: Record<string, { type: "boolean" | "string"; short?: string }> = {
      ...namesOf(command.flags, "boolean"),
      ...namesOf(command.values, "string"),
      help: { type: "boolean", short: "h" },
    };
    const { values, positionals } = parseArgs({ args: [...rest], allowPositionals: true, options });
    if (values.help === true) return { text: helpOf(name, command), isError: false };
    const { least, most } = command.words;
    if (positionals.length < least)
      return wrong(`${name} needs ${command.usage.split(" ").slice(0, least).join(" ")}`);
    if (positionals.length > most)
      return wrong(`${name} does not know what to do with ${positionals.slice(most).join(" ")}`);
    const call = command.call({
      flag: (option) => values[option] === true,
      value: (option) => {
        const value = values[option];
        return typeof value === "string" ? value : null;
      },
      words: positionals,
    });
    return typeof call === "string" ? wrong(call) : call;
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

function namesOf(
  options: Readonly<Record<string, string>> | undefined,
  type: "boolean" | "string",
): Record<string, { type: "boolean" | "string" }> {
  return Object.fromEntries(Object.keys(options ?? {}).map((name) => [name, { type }]));
}

const VALUE_NAMES: Readonly<Record<string, string>> = { name: "NAME", to: "VERSION" };

function helpOf(name: string, { usage, about, more, flags = {}, values = {} }: Command): string {
  const options = [
    ...Object.entries(flags).map(([option, text]) => [`--${option}`, text] as const),
    ...Object.entries(values).map(
      ([option, text]) => [`--${option} ${VALUE_NAMES[option] ?? "DIR"}`, text] as const,
    ),
  ];
  const width = Math.max(0, ...options.map(([option]) => option.length));
  return [
    `kule-agent ${name} ${usage}`,
    `    ${about}`,
    ...(options.length === 0
      ? []
      : ["", ...options.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`)]),
    ...(more === undefined ? [] : ["", more]),
    "",
  ].join("\n");
}
