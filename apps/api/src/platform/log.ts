import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger };

/** One JSON object a line on standard output; headers and bodies are never logged, so no secret is. */
export function createLog(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino(
    {
      level,
      base: { service: "kule-api" },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
    },
    destination,
  );
}

/** The fields of a Postgres error that concern tables and not the values that were to be written. */
const facts = ["code", "severity", "schema", "table", "column", "constraint", "routine", "syscall"] as const;
const maxCauses = 5;

/**
 * An error without its attached data: Postgres' `detail` quotes the failing row, password hashes included,
 * and the driver attaches its connection with the values it was sending.
 */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const described: Record<string, unknown> = {
    type: error.constructor.name,
    message: error.message,
    stack: error.stack,
  };
  for (const name of facts) {
    const value = (error as Error & Record<string, unknown>)[name];
    if (typeof value === "string") described[name] = value;
  }
  if (error.cause !== undefined && depth < maxCauses) described.cause = describeError(error.cause, depth + 1);
  return described;
}
