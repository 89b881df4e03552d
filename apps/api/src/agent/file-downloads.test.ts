import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FileDownloads } from "./file-downloads.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-downloads-"));
  writeFileSync(join(folder, "file"), Buffer.alloc(1_000_000, "kule"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function streamOf(downloads: FileDownloads, end = 1_000_000, disconnect: (() => void) | null = null) {
  const place = downloads.take();
  if (place === null) throw new Error("there is no place");
  const file = await open(join(folder, "file"));
  return { file, stream: place.stream({ file, start: 0, end, disconnect }) };
}

test("a place is taken until the file has been read, and the file is closed then", async () => {
  const downloads = new FileDownloads(1, new AbortController().signal);
  const { file, stream } = await streamOf(downloads);
  expect(downloads.take()).toBe(null);
  expect((await new Response(stream).arrayBuffer()).byteLength).toBe(1_000_000);
  expect(file.fd).toBe(-1);
  expect(downloads.take()).not.toBe(null);
});

test("a reader that takes nothing loses its place", async () => {
  const downloads = new FileDownloads(1, new AbortController().signal, 50);
  const { file, stream } = await streamOf(downloads);
  await expect.poll(() => file.fd).toBe(-1);
  expect(downloads.take()).not.toBe(null);
  await expect(stream.getReader().read()).rejects.toThrow("nobody reads");
});

test("a file that became shorter ends its stream with an error", async () => {
  const downloads = new FileDownloads(1, new AbortController().signal);
  const { file, stream } = await streamOf(downloads, 2_000_000);
  await expect(new Response(stream).arrayBuffer()).rejects.toThrow();
  await expect.poll(() => file.fd).toBe(-1);
  expect(downloads.take()).not.toBe(null);
});

test.each([
  ["nobody reads", 50, 1_000_000],
  ["the file became shorter", 60_000, 2_000_000],
])("the connection ends without an error's text when %s", async (_what, pauseMs, end) => {
  const downloads = new FileDownloads(1, new AbortController().signal, pauseMs);
  let isConnected = true;
  const { file, stream } = await streamOf(downloads, end, () => {
    isConnected = false;
  });
  const reader = stream.getReader();
  // Its last read never ends: the connection is gone.
  const readOn = async () => {
    while (isConnected) await reader.read();
  };
  if (pauseMs > 1_000) void readOn();
  await expect.poll(() => [isConnected, file.fd]).toEqual([false, -1]);
});

test("a place is given back once", () => {
  const downloads = new FileDownloads(1, new AbortController().signal);
  const place = downloads.take();
  place?.release();
  place?.release();
  expect(downloads.take()).not.toBe(null);
  expect(downloads.take()).toBe(null);
});
