/** Writes one line of JSON. Callers pass only what any reader of the logs may see: no forms, no tokens. */
export type Log = (event: string, fields: Readonly<Record<string, unknown>>) => void;

export function createLog(write: (line: string) => void): Log {
  return (event, fields) =>
    write(`${JSON.stringify({ time: new Date().toISOString(), service: "console", event, ...fields })}\n`);
}
