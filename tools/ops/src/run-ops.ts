import { parseArgs } from "node:util";
import { type Command, type Files, type Given, UsageError } from "./command.ts";
import { commands } from "./commands/commands.ts";
import { generalHelp, helpOf, tokenVariable, urlVariable } from "./help.ts";
import { Failed, OperatorApi, type Send, type ShownRequest } from "./operator-api.ts";
import { printable } from "./text-table.ts";

/** The world of one run. */
export type Surroundings = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readStdin: () => Promise<string>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly files: Files;
  /** Takes the place of the network. */
  readonly send?: Send;
  readonly pause?: (milliseconds: number) => Promise<void>;
};

export type ExitCode = 0 | 1 | 2;

/** Runs `<noun> <verb> …`. */
export async function runOps(args: readonly string[], world: Surroundings): Promise<ExitCode> {
  const wantsJson = args.includes("--json");
  try {
    return await run(args, world);
  } catch (error) {
    if (error instanceof UsageError) {
      world.err(`${error.message}\n  npm run ops -- --help lists what there is\n`);
      return 2;
    }
    if (!(error instanceof Failed)) throw error;
    world.err(
      wantsJson
        ? `${JSON.stringify({ error: error.problem ?? { detail: error.message } })}\n`
        : failureText(error),
    );
    return 1;
  }
}

async function run(args: readonly string[], world: Surroundings): Promise<ExitCode> {
  // Whatever it was meant for: it is in the shell's history and in the list of processes now.
  if (args.some((arg) => /kule_(pat|ops|agent|ses)_[0-9a-z]{8}/.test(arg)))
    throw new UsageError(
      `a token is no argument: other users of the machine can read it. Set ${tokenVariable} or give --token-stdin, and revoke this one`,
    );
  const [noun = "", verb = "", ...more] = args;
  const command = commands.find((each) => each.noun === noun && each.verb === verb);
  if (command === undefined) {
    const known = commands.filter((each) => each.noun === noun);
    const wantsHelp = args.length === 0 || args.includes("--help");
    if (wantsHelp && (known.length > 0 || noun === "" || noun.startsWith("-"))) {
      world.out(`${generalHelp(known.length > 0 ? known : commands)}\n`);
      return args.length === 0 ? 2 : 0;
    }
    throw new UsageError(
      known.length > 0
        ? `${noun} has no ${JSON.stringify(verb)}: ${known.map((each) => each.verb).join(", ")}`
        : `there is no ${JSON.stringify(noun)}: ${[...new Set(commands.map((each) => each.noun))].join(", ")}`,
    );
  }
  if (more.includes("--help")) {
    world.out(`${helpOf(command)}\n`);
    return 0;
  }
  return runCommand(command, more, world);
}

async function runCommand(command: Command, args: readonly string[], world: Surroundings): Promise<ExitCode> {
  const { given, flags } = readArguments(command, args);
  const api = new OperatorApi({
    baseUrl: readUrl(world.environment),
    token: await readToken(world, flags),
    isDryRun: flags.dryRun,
    idempotencyKey: flags.idempotencyKey,
    note: (line) => world.err(`${line}\n`),
    ...(world.send === undefined ? {} : { send: world.send }),
    ...(world.pause === undefined ? {} : { pause: world.pause }),
  });
  const result = await command.run(given, api, world.files);
  if (flags.dryRun) {
    world.out(flags.json ? `${JSON.stringify(api.shown, null, 2)}\n` : api.shown.map(requestText).join("\n"));
    return 0;
  }
  world.out(`${flags.json ? JSON.stringify(result.json, null, 2) : result.text()}\n`);
  for (const note of result.notes ?? []) world.err(`${note}\n`);
  return result.hasFailed === true ? 1 : 0;
}

type Flags = {
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly tokenStdin: boolean;
  readonly idempotencyKey: string | undefined;
};

function readArguments(command: Command, args: readonly string[]): { given: Given; flags: Flags } {
  const own = Object.entries(command.options).map(
    ([name, { value }]) =>
      [name, value === undefined ? { type: "boolean" } : { type: "string", multiple: true }] as const,
  );
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...Object.fromEntries(own),
        "dry-run": { type: "boolean" },
        json: { type: "boolean" },
        "token-stdin": { type: "boolean" },
        "idempotency-key": { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const { names, least, most } = command.positionals ?? { names: "nothing", least: 0, most: 0 };
  if (positionals.length < least || positionals.length > most)
    throw new UsageError(
      `${command.noun} ${command.verb} takes ${names}, and got ${positionals.length} of them`,
    );
  const all = (option: string) => (Array.isArray(values[option]) ? (values[option] as string[]) : []);
  const missing = Object.entries(command.options)
    .filter(([name, { isRequired }]) => isRequired === true && all(name).length === 0)
    .map(([name]) => `--${name}`);
  if (missing.length > 0) throw new UsageError(`${command.noun} ${command.verb} needs ${missing.join(", ")}`);
  for (const [name, { isRepeated }] of Object.entries(command.options))
    if (isRepeated !== true && all(name).length > 1)
      throw new UsageError(`--${name} is given more than once`);
  const key = values["idempotency-key"] as string | undefined;
  if (key !== undefined && !/^[\x21-\x7e]{1,200}$/.test(key))
    throw new UsageError("--idempotency-key is up to 200 printable characters without spaces");
  return {
    given: {
      positionals,
      one: (option) => all(option)[0],
      needed(option) {
        const [value] = all(option);
        if (value === undefined) throw new UsageError(`--${option} is needed`);
        return value;
      },
      all,
      has: (option) => values[option] === true,
    },
    flags: {
      dryRun: values["dry-run"] === true,
      json: values.json === true,
      tokenStdin: values["token-stdin"] === true,
      idempotencyKey: key,
    },
  };
}

function readUrl(environment: Surroundings["environment"]): string {
  const url = (environment[urlVariable] ?? "").replace(/\/{1,9}$/, "");
  if (/^https?:\/\/[^/\s]+\/\S+$/.test(url)) return url;
  throw new UsageError(`${urlVariable} is the API with its path, such as https://kule.example/api/v1`);
}

/** A dry run sends nothing, and needs none. */
async function readToken(
  { environment, readStdin }: Surroundings,
  { dryRun, tokenStdin }: Flags,
): Promise<string> {
  if (dryRun) return "none";
  const token = (tokenStdin ? await readStdin() : (environment[tokenVariable] ?? "")).trim();
  if (/^[\x21-\x7e]{10,500}$/.test(token)) return token;
  throw new UsageError(
    tokenStdin
      ? "standard input has no token"
      : `${tokenVariable} holds no token: set it to an operator's, or give --token-stdin`,
  );
}

function requestText({ method, url, headers, body }: ShownRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${url}`, ...lines].join("\n")}\n${body === null ? "" : `\n${JSON.stringify(body)}\n`}`;
}

/** Code, message, fields, precondition, fix and request id. */
function failureText({ message, problem }: Failed): string {
  if (problem === null) return `${message}\n`;
  const { precondition, errors = [] } = problem;
  return `${[
    `${problem.code} (${problem.status}): ${printable(problem.detail)}`,
    ...errors.map(({ field, code, message: what }) => `  ${printable(field)}: ${printable(what)} (${code})`),
    ...(problem.errors_left_out === undefined ? [] : [`  and ${problem.errors_left_out} more`]),
    ...(problem.required ?? []).map((permission) => `  the token lacks ${permission}`),
    ...(precondition === undefined
      ? []
      : [`  precondition: ${precondition.name}: ${printable(precondition.message)}`]),
    ...(precondition?.fix == null ? [] : [`  fix: ${printable(precondition.fix)}`]),
    `  request id: ${printable(problem.request_id)}`,
  ].join("\n")}\n`;
}
