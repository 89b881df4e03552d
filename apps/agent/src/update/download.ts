// A release's file, in parts if need be. What is there stays there when the connection, the agent or the machine ends.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Architecture, ReleaseFile } from "@kule/agent-release/release";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { backoffMilliseconds } from "../backoff.ts";
import { type AgentRuntime, pausedFully, withinTime } from "../runtime.ts";
import type { FilePart, ReleaseSource } from "./release-source.ts";
import { downloadedFile } from "./request.ts";
import { digestOf } from "./versions.ts";

export type DownloadLimits = {
  /** Without a byte, a part counts as broken off. */
  readonly stallMs: number;
  readonly longestBackoffMs: number;
  /** In a row, without a single byte more. */
  readonly tries: number;
  readonly bytesPerSecond: number;
};

export const DOWNLOAD_LIMITS: DownloadLimits = {
  stallMs: 30_000,
  longestBackoffMs: 60_000,
  tries: 20,
  bytesPerSecond: 16 << 20,
};

/** That stays free beside the file. */
const SPARE_BYTES = 64 << 20;

export type DownloadEnd =
  | { readonly kind: "complete" }
  /** @property isOver it would be the same again */
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly isOver: boolean };

export type Wanted = {
  readonly version: string;
  readonly architecture: Architecture;
  readonly file: ReleaseFile;
};

/** Downloads it into the folder, where it has its name only when its bytes are those of the manifest. */
export async function download(
  source: ReleaseSource,
  wanted: Wanted,
  folder: string,
  parts: { readonly runtime: AgentRuntime; readonly limits: DownloadLimits; readonly crashPoint: CrashHook },
  stop: AbortSignal,
): Promise<DownloadEnd> {
  const { version, architecture, file } = wanted;
  const { runtime, limits, crashPoint } = parts;
  const complete = join(folder, downloadedFile(version));
  if (existsSync(complete)) {
    if (statSync(complete).size === file.size_bytes && digestOf(complete) === file.sha256)
      return { kind: "complete" };
    rmSync(complete, { force: true });
  }
  // Of exactly this file: the parts of two builds of one version are never joined.
  const part = `${complete}-${file.sha256.slice(0, 16)}.part`;
  let trouble = "";
  for (let failures = 0; failures < limits.tries; ) {
    stop.throwIfAborted();
    const have = sizeOf(part);
    if (have < file.size_bytes) {
      const space = missingSpace(folder, file.size_bytes - have);
      if (space !== null) return failed("no_space", space, false);
      const answer = await source.file(version, architecture, { offset: have, sha256: file.sha256 }, stop);
      if (answer.kind === "refused" && answer.status !== 416)
        return failed("not_available", answer.message, true);
      if (answer.kind === "refused") rmSync(part, { force: true });
      if (answer.kind === "ok") {
        trouble = await append(answer.value, part, file.size_bytes, parts, stop);
        await crashPoint("update.download.part");
      } else trouble = answer.message;
    }
    const now = sizeOf(part);
    if (now === file.size_bytes) {
      if (digestOf(part) === file.sha256) {
        sync(part);
        await crashPoint("update.download.verified");
        renameSync(part, complete);
        sync(dirname(complete));
        return { kind: "complete" };
      }
      rmSync(part, { force: true });
      trouble = "what was downloaded is not the file of the manifest";
      failures = Math.max(failures + 1, limits.tries - 2);
    } else failures = now > have ? 0 : failures + 1;
    await pausedFully(
      runtime,
      backoffMilliseconds(failures, limits.longestBackoffMs, runtime.random()),
      stop,
    );
  }
  stop.throwIfAborted();
  const isWrong = trouble.startsWith("what was downloaded");
  return failed(isWrong ? "wrong_file" : "not_downloaded", trouble, isWrong);
}

const failed = (code: string, message: string, isOver: boolean): DownloadEnd => ({
  kind: "failed",
  code,
  message,
  isOver,
});

/** Appends what comes. @returns why it ended; nothing of it is thrown but a full disk */
async function append(
  { start, body }: FilePart,
  path: string,
  size: number,
  { runtime, limits }: { readonly runtime: AgentRuntime; readonly limits: DownloadLimits },
  stop: AbortSignal,
): Promise<string> {
  const reader = body.getReader();
  const target = openSync(path, start === 0 ? "w" : "a", 0o600);
  const begun = runtime.monotonic();
  let position = start;
  try {
    for (;;) {
      const { done, value } = await withinTime(runtime, limits.stallMs, stop, (limit) => read(reader, limit));
      if (done) return position < size ? "the download was broken off" : "";
      if (position + value.length > size) return "more is sent than the file has";
      for (let written = 0; written < value.length; )
        written += writeSync(target, value, written, value.length - written);
      position += value.length;
      const due = ((position - start) / limits.bytesPerSecond) * 1000 - (runtime.monotonic() - begun);
      if (due > 0) await pausedFully(runtime, due, stop);
    }
  } catch (error) {
    stop.throwIfAborted();
    if (
      error instanceof Error &&
      "code" in error &&
      ["ENOSPC", "EDQUOT", "EROFS"].includes(String(error.code))
    )
      throw error;
    return error instanceof Error ? error.message : String(error);
  } finally {
    await reader.cancel().catch(() => {});
    closeSync(target);
  }
}

type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/** A read that ends with the signal, which a reader does not know of. */
async function read(reader: ReadableStreamDefaultReader<Uint8Array>, limit: AbortSignal): Promise<Read> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(limit.reason);
  limit.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([reader.read(), ended.promise]);
  } finally {
    limit.removeEventListener("abort", end);
  }
}

function missingSpace(folder: string, needed: number): string | null {
  const { bavail, bsize } = statfsSync(folder);
  const megabytes = (bytes: number) => Math.ceil(bytes / (1 << 20));
  return bavail * bsize < needed + SPARE_BYTES
    ? `the agent's state folder has ${megabytes(bavail * bsize)} MB left, and needs ${megabytes(needed + SPARE_BYTES)} MB`
    : null;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
