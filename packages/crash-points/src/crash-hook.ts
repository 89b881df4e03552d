import { appendFileSync } from "node:fs";

// Points where a test kills or stops a process: the only way to prove that work survives it everywhere.
// Programs, the agent and the API name their points; the hook decides what happens there, and outside of
// tests nothing does.

/** Called with "ServerCreate.clone.effect-done" or "api.createServer.before-commit". */
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

/**
 * The hook that a process that ships has: only a test build listens to the variables, since an environment must not
 * be able to kill an API or a region's agent.
 */
export function batteryHook(environment: Readonly<Record<string, string | undefined>>): CrashHook {
  return environment.KULE_TEST_BUILD === "1" ? crashHookFrom(environment) : noCrash;
}
