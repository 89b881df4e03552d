import { type CrashHook, crashHookFrom, noCrash } from "@kule/programs/crash-points";

/**
 * The hook by which tests end or stop this process at a named place. Only a test build has it; anywhere else the
 * variables are ignored, since an environment must not be able to kill a region's agent.
 */
export function batteryHook(environment: Readonly<Record<string, string | undefined>>): CrashHook {
  return environment.KULE_TEST_BUILD === "1" ? crashHookFrom(environment) : noCrash;
}
