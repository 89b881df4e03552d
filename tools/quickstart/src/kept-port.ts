import { findFreePort, isPortBusy } from "@kule/postgres/free-port";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

/**
 * The port of an earlier start, which people and files may have noted; another one when there was none, or something
 * else listens on it now.
 *
 * @param file where it is kept, as JSON
 */
export async function keptPort(file: string, host: string): Promise<number> {
  const kept = readJsonFile<{ port?: unknown }>(file)?.port;
  if (typeof kept === "number" && !(await isPortBusy(kept, host))) return kept;
  const port = await findFreePort();
  writePrivateFile(file, JSON.stringify({ port }));
  return port;
}
