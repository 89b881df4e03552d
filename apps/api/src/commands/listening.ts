import type { Server } from "node:http";
import type { ServerType } from "@hono/node-server";
import { BadSettings } from "../platform/settings.ts";

/**
 * Resolves once the server listens.
 *
 * @param variable the setting of its port
 * @throws BadSettings when it cannot, such as for a port that is in use
 */
export function listening(
  server: ServerType | Server,
  { host, port }: { readonly host: string; readonly port: number },
  variable: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("listening", resolve);
    server.once("error", (error: NodeJS.ErrnoException) => {
      const place = `${host}:${port}`;
      reject(
        error.code === "EADDRINUSE"
          ? new BadSettings(`port ${place} is in use; set ${variable} to another one`)
          : new BadSettings(`cannot listen on ${place}: ${error.message}`),
      );
    });
  });
}
