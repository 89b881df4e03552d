import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger } from "pino";

export type LogOptions = {
  /** Replaced in every line, wherever they occur. */
  readonly secrets: readonly string[];
  readonly level: string;
  /** Standard output when left out. */
  readonly destination?: DestinationStream;
};

const SHORTEST_SECRET = 8;

/**
 * JSON lines on standard output, written at once: the last line before a crash is the one that is needed. Two
 * measures keep secrets out: fields of known names are masked, and the secrets that this process has are
 * replaced in every line.
 */
export function makeLog(options: LogOptions): Logger {
  const known = options.secrets.filter((secret) => secret.length >= SHORTEST_SECRET);
  const inJson = known.map((secret) => JSON.stringify(secret).slice(1, -1));
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: ["authorization", "token", "password", "cipassword", "sshkeys", "*.authorization", "*.token"],
      censor: "[redacted]",
    },
    hooks: {
      streamWrite: (line: string) =>
        inJson.reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), line),
    },
  };
  return pino(settings, options.destination ?? pino.destination({ dest: 1, sync: true }));
}
