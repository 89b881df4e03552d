import { type Logger, makeLog } from "../log.ts";

export type LogLine = { readonly level: string; readonly msg: string } & Readonly<Record<string, unknown>>;

export type MemoryLog = {
  readonly log: Logger;
  readonly lines: readonly LogLine[];
  /** Everything that was written, as it would be in the journal. */
  text(): string;
  /** Resolves with the first line whose message begins with this. */
  line(start: string): Promise<LogLine>;
};

/** A log that stores its lines. */
export function memoryLog(secrets: readonly string[] = []): MemoryLog {
  const raw: string[] = [];
  const lines: LogLine[] = [];
  let changed = Promise.withResolvers<void>();
  const destination = {
    write(line: string) {
      raw.push(line);
      lines.push(JSON.parse(line) as LogLine);
      changed.resolve();
      changed = Promise.withResolvers<void>();
    },
  };
  const log = makeLog({ secrets, level: "debug", destination });
  const line = async (start: string): Promise<LogLine> => {
    for (;;) {
      const found = lines.find(({ msg }) => msg.startsWith(start));
      if (found) return found;
      await changed.promise;
    }
  };
  return { log, lines, text: () => raw.join(""), line };
}
