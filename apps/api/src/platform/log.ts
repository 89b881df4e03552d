import { type Logger, pino } from "pino";

export type { Logger };

/** One JSON object a line on standard output; headers and bodies are never logged, so no secret is. */
export function createLog(level: string): Logger {
  return pino({ level, base: { service: "kule-api" }, timestamp: pino.stdTimeFunctions.isoTime });
}
