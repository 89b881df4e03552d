import type { Command } from "./command.ts";

export const tokenVariable = "KULE_OPERATOR_TOKEN";
export const urlVariable = "KULE_API_URL";

const commonOptions: readonly (readonly [string, string])[] = [
  ["--dry-run", "print the exact requests, and send none"],
  ["--json", "print JSON"],
  ["--token-stdin", `read the token from standard input instead of ${tokenVariable}`],
  ["--idempotency-key KEY", "of a run that nothing answered: what it changed is not changed again"],
  ["--help", "this text"],
];

const rest = `${urlVariable} is the API with its path, such as https://kule.example/api/v1. ${tokenVariable} holds an operator's
token; it is never an argument, which other users of the machine could read.

Exit codes: 0 done, 1 refused, failed or violated, 2 wrong usage. docs/runbooks/ops.md has examples.`;

/** What there is, or what one noun has. */
export function generalHelp(commands: readonly Command[]): string {
  return `usage: npm run ops -- <noun> <verb> [options]

${columns(commands.map(({ noun, verb, summary }) => [`${noun} ${verb}`, summary]))}

${columns(commonOptions)}

${rest}`;
}

export function helpOf({ noun, verb, summary, positionals, options }: Command): string {
  const own = Object.entries(options).map(
    ([name, { value, about, isRequired }]) =>
      [
        value === undefined ? `--${name}` : `--${name} ${value}`,
        `${about}${isRequired === true ? " (needed)" : ""}`,
      ] as const,
  );
  const positional = positionals === undefined ? [] : [[positionals.names, positionals.about] as const];
  const usage = ["usage: npm run ops --", noun, verb, positionals?.names, "[options]"]
    .filter(Boolean)
    .join(" ");
  return `${usage}

${summary}.

${columns([...positional, ...own, ...commonOptions])}

${rest}`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
