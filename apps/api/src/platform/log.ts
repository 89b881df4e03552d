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

/** What Postgres says of a failure that is about tables and not about what was to be written into them. */
const facts = ["code", "severity", "schema", "table", "column", "constraint", "routine", "syscall"] as const;
const maxCauses = 5;

/**
 * An error without whatever else hangs on it: Postgres' `detail` quotes the failing row, password hashes and all, and
 * the driver attaches its connection with the values it was sending.
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
