/** A command as its arguments; no shell parses them. */
export type Command = {
  readonly words: readonly [program: string, ...more: string[]];
  readonly input?: string;
};

export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs commands on the machine that is the region's edge. */
export type Runner = {
  /**
   * Returns the command's output, whatever its exit code; rejects when it could not be run or did not end.
   */
  run(command: Command, signal?: AbortSignal): Promise<CommandResult>;
};

/** A command of the edge that failed, with its own error text. */
export class EdgeCommandFailed extends Error {
  readonly command: Command;
  readonly result: CommandResult;
  constructor(command: Command, result: CommandResult) {
    super(`${command.words.join(" ")} ended with ${result.code}: ${result.stderr.trim().slice(0, 500)}`);
    this.name = "EdgeCommandFailed";
    this.command = command;
    this.result = result;
  }
}

/** The edge could not be reached, or did not answer in time: what the command did is not known. */
export class EdgeUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EdgeUnreachable";
  }
}

/** Hooks around each command that changes something. */
export type CommandHooks = {
  readonly signal?: AbortSignal;
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
};

/**
 * Runs the command.
 * @throws EdgeCommandFailed, and what a hook throws
 */
export async function carryOut(runner: Runner, command: Command, hooks: CommandHooks): Promise<void> {
  await hooks.before?.();
  await output(runner, command, hooks.signal);
  await hooks.after?.();
}

/**
 * The output of the command.
 * @throws EdgeCommandFailed
 */
export async function output(runner: Runner, command: Command, signal?: AbortSignal): Promise<string> {
  const result = await runner.run(command, signal);
  if (result.code !== 0) throw new EdgeCommandFailed(command, result);
  return result.stdout;
}
