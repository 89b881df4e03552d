import { isProgram, type Program } from "./programs.ts";
import { SERVER_VERSION } from "./version.ts";

export const standardConfiguration = "/etc/kule/server.env";

export const HELP = `kule-server ${SERVER_VERSION}: the control plane of Kule

  kule-server [--config FILE] <command> [options]

Commands
  api       answer requests of users and agents until SIGTERM
  worker    run the control plane's own tasks until SIGTERM
  console   serve the web panel until SIGTERM
  migrate   bring the database to this version
  seed      make a first operator, organisation and region, and print their secrets as JSON once
              --organisation NAME   default: demo
              --region NAME         default: lab1
  restored  after a restore of the database from a backup, before the start: make it fit to be started with
              --end-tokens          end the tokens of organisations and operators, too
  doctor    look at the whole installation, print what is wrong and how to fix it
              --json                the same as JSON

Options
  --config FILE   the configuration; default: ${standardConfiguration}, where it exists
  --version, -V
  --help, -h

The configuration has lines of NAME=value. A variable of the environment with the same name wins. A secret is in a file
of its own that only root can read: NAME_FILE=path. Each command gets the settings that it needs, and no others.
docs/server-configuration.md lists all names.

Exit status
  0  done, or everything is in order    1  doctor found something wrong, or the command failed
  2  not called as above                78 the configuration cannot be used
`;

export type Call =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "wrong"; readonly message: string }
  | {
      readonly kind: "start";
      readonly program: Program;
      /** Null: the standard one, where it exists. */
      readonly configuration: string | null;
      readonly options: readonly string[];
    };

/** Options after the command are the command's own. */
export function parseCall(args: readonly string[]): Call {
  let configuration: string | null = null;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? "";
    if (word === "--help" || word === "-h") return { kind: "help" };
    if (word === "--version" || word === "-V") return { kind: "version" };
    if (word === "--config" || word.startsWith("--config=")) {
      const value = word === "--config" ? args[index + 1] : word.slice("--config=".length);
      if (word === "--config") index += 1;
      if (value === undefined || value === "") return wrong("--config needs a file");
      configuration = value;
      continue;
    }
    if (word.startsWith("-")) return wrong(`there is no option ${word}`);
    if (!isProgram(word)) return wrong(`there is no command ${word}`);
    const options = args.slice(index + 1);
    if (options.includes("--help") || options.includes("-h")) return { kind: "help" };
    const own = optionsOf(word, options);
    return own === null ? { kind: "start", program: word, configuration, options } : wrong(own);
  }
  return wrong("a command is needed");
}

const wrong = (message: string): Call => ({ kind: "wrong", message });

/** What is wrong with the options of a command; null when nothing is. */
function optionsOf(program: Program, options: readonly string[]): string | null {
  const known: Partial<Record<Program, readonly string[]>> = {
    seed: ["--organisation", "--region", "--mode", "--keep"],
    doctor: ["--json"],
    restored: ["--end-tokens"],
  };
  const takesValue = program === "seed";
  for (let index = 0; index < options.length; index += 1) {
    const [name = "", value] = (options[index] ?? "").split("=", 2);
    if (!(known[program] ?? []).includes(name)) return `${program} takes no ${options[index]}`;
    if (!takesValue || value !== undefined) continue;
    index += 1;
    if (options[index] === undefined) return `${name} needs a value`;
  }
  return null;
}
