// Debian packages for guests that have no way out: an HTTP proxy for their `apt-get`, in this process.

import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** What nobody has asked for in this time is removed at the next start. */
const KEPT_DAYS = 60;
const ANSWER_MS = 30_000;

/** Their name stands for their bytes, so one that is there needs no question. */
const neverChanges = (url: URL): boolean => /\/by-hash\/|\.deb$/.test(url.pathname);

export type PackageProxy = {
  /** What it could not answer. */
  readonly troubles: readonly string[];
  end(): Promise<void>;
};

/**
 * @param socket the path of the Unix socket that it listens at
 * @param folder where it keeps what never changes, for later runs
 */
export async function startPackageProxy(socket: string, folder: string): Promise<PackageProxy> {
  mkdirSync(folder, { recursive: true });
  const oldest = Date.now() - KEPT_DAYS * 86_400_000;
  for (const name of readdirSync(folder))
    if (statSync(join(folder, name)).mtimeMs < oldest) rmSync(join(folder, name));
  const troubles: string[] = [];
  const server = createServer((request, response) => {
    answer(request, response, folder).catch((error: unknown) => {
      troubles.push(`${request.url}: ${error instanceof Error ? (error.cause ?? error.message) : error}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(503).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  return {
    troubles,
    async end() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

let drafts = 0;

async function answer(request: IncomingMessage, response: ServerResponse, folder: string): Promise<void> {
  const url = URL.parse(request.url ?? "");
  if (request.method !== "GET" || url?.protocol !== "http:") return void response.writeHead(400).end();
  const kept = join(folder, createHash("sha256").update(url.href).digest("hex"));
  const size = statSync(kept, { throwIfNoEntry: false })?.size;
  if (size !== undefined) {
    utimesSync(kept, new Date(), new Date());
    response.writeHead(200, { "content-length": size });
    return await pipeline(createReadStream(kept), response);
  }
  const since = request.headers["if-modified-since"];
  const found = await fetch(url, {
    headers: since === undefined ? {} : { "if-modified-since": since },
    signal: AbortSignal.timeout(ANSWER_MS * 10),
  });
  const body = found.body === null ? Readable.from([]) : Readable.fromWeb(found.body as never);
  if (found.status === 200 && neverChanges(url)) {
    drafts += 1;
    const draft = `${kept}.${process.pid}.${drafts}`;
    try {
      await pipeline(body, createWriteStream(draft));
      renameSync(draft, kept);
    } finally {
      rmSync(draft, { force: true });
    }
    return await answer(request, response, folder);
  }
  const named = ["last-modified", "content-type"].flatMap((name) => {
    const value = found.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  response.writeHead(found.status, Object.fromEntries(named));
  await pipeline(body, response);
}
