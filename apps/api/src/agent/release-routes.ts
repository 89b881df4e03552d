import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import type { ApiRequest } from "../platform/api-request.ts";
import type { Api } from "../platform/deps.ts";
import { RangeNotSatisfiable, RateLimited, Unavailable } from "../platform/errors.ts";
import { identityOf } from "../platform/file-checks.ts";
import { operation } from "../platform/operation.ts";
import type { KnownFile } from "../platform/release-folder.ts";
import { reply } from "../platform/reply.ts";
import { FileDownloads } from "./file-downloads.ts";
import { rangeStart } from "./range-start.ts";

/** Of one process: what agents download must not take the disk and the network from everything else. */
const mostDownloads = 8;
const retryAfterSeconds = 15;

/** The calls with which agents get the releases that they are offered. What they get they verify themselves. */
export function mountReleases(api: Api): void {
  const { releases } = api.deps;
  const downloads = new FileDownloads(mostDownloads, api.deps.stopping);
  operation(api, "getAgentReleaseKeys", {
    handle: async () => reply(200, { envelopes: (await releases.read())?.keys ?? [] }),
  });
  operation(api, "getAgentRelease", {
    find: (request) => releases.find(request.pathText("version")),
    handle: async (_request, { envelope }) => reply(200, { manifest: envelope }),
  });
  operation(api, "downloadAgentRelease", {
    find: async (request) => {
      const release = await releases.find(request.pathText("version"));
      const architecture = request.pathText("architecture");
      const found = release?.files.find((each) => each.architecture === architecture);
      if (found === undefined) return null;
      const file = await releases.checkedSoon(found);
      // One that is not what its manifest says is not offered.
      return file.checked?.problem == null ? file : null;
    },
    handle: (request, file) => download(request, file, downloads),
  });
}

async function download(
  request: ApiRequest<"downloadAgentRelease">,
  file: KnownFile,
  downloads: FileDownloads,
): Promise<Response> {
  if (file.checked === null) throw new Unavailable("the file is being compared with its manifest", 5);
  const etag = `"${file.sha256}"`;
  const ifRange = request.header("If-Range");
  const start = ifRange === undefined || ifRange === etag ? rangeStart(request.header("Range")) : 0;
  if (start >= file.size_bytes) throw new RangeNotSatisfiable(file.size_bytes);
  const headers = {
    "Content-Type": "application/octet-stream",
    "Content-Length": String(file.size_bytes - start),
    "Accept-Ranges": "bytes",
    ETag: etag,
    ...(start === 0 ? {} : { "Content-Range": `bytes ${start}-${file.size_bytes - 1}/${file.size_bytes}` }),
  };
  const status = start === 0 ? 200 : 206;
  if (request.context.req.method === "HEAD") return new Response(null, { status, headers });
  const place = downloads.take();
  if (place === null)
    throw new RateLimited(retryAfterSeconds, "too many agents download a release at this moment");
  try {
    const handle = await open(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Since it was compared, another file may have been put in its place.
    if (identityOf(await handle.stat()) !== file.checked.identity) {
      await handle.close();
      throw new Error("it is another file");
    }
    const { outgoing } = (request.context.env ?? {}) as { outgoing?: ServerResponse };
    const disconnect = outgoing === undefined ? null : () => void outgoing.destroy();
    const part = { file: handle, start, end: file.size_bytes, disconnect };
    return new Response(place.stream(part), { status, headers });
  } catch (error) {
    place.release();
    await request.deps.releases.checkAgain(file);
    throw new Unavailable("the file is being compared with its manifest", 5, error);
  }
}
