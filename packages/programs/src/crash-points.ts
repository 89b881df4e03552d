import { appendFileSync } from "node:fs";

// Places where a test kills or stops the process: the only way to know that a job survives it everywhere. There are
// five around each step, named as the reliability battery names them.

/**
 * before-send: nothing has been sent. effect-done: the region has acted, its reply is not read.
 * reply-read: we know, the control plane does not. ack-lost: it knows, we have not seen that it does.
 * after-ack: everybody knows, the next step has not begun.
 */
export type CrashPoint = "before-send" | "effect-done" | "reply-read" | "ack-lost" | "after-ack";

/** Called with "ServerCreate.clone.effect-done". Whoever runs programs for real leaves it out. */
export type CrashHook = (name: string) => void | Promise<void>;

export const noCrash: CrashHook = () => {};

/**
 * The hook of a process under test: `BATTERY_CRASH=name@n` ends it by SIGKILL when the point is reached for the nth
 * time, `BATTERY_STOP=name@n` stops it by SIGSTOP, and `BATTERY_TRACE=file` notes each point as it is reached, which
 * is how a test learns which there are. Without any of these variables it does nothing.
 */
export function crashHookFrom(
  environment: Readonly<Record<string, string | undefined>>,
  kill: (signal: "SIGKILL" | "SIGSTOP") => void = (signal) => process.kill(process.pid, signal),
): CrashHook {
  const wishes = (["BATTERY_CRASH", "BATTERY_STOP"] as const).flatMap((variable) => {
    const match = /^(.+?)(?:@(\d+))?$/.exec(environment[variable] ?? "");
    if (!match) return [];
    const signal = variable === "BATTERY_CRASH" ? ("SIGKILL" as const) : ("SIGSTOP" as const);
    return [{ name: match[1] ?? "", time: Number(match[2] ?? 1), signal, seen: 0 }];
  });
  const trace = environment.BATTERY_TRACE;
  if (wishes.length === 0 && trace === undefined) return noCrash;
  return (name) => {
    if (trace !== undefined) appendFileSync(trace, `${name}\n`);
    for (const wish of wishes) {
      if (wish.name !== name) continue;
      wish.seen += 1;
      if (wish.seen === wish.time) kill(wish.signal);
    }
  };
}
