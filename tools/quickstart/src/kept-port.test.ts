import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keptPort } from "./kept-port.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kule-port-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a second start has the port of the first one, and another one when something listens on it", async () => {
  const file = join(directory, "port.json");
  const first = await keptPort(file, "127.0.0.1");
  expect(await keptPort(file, "127.0.0.1")).toBe(first);

  const other = createServer();
  await new Promise<void>((resolve) => other.listen(first, "127.0.0.1", resolve));
  const second = await keptPort(file, "127.0.0.1");
  await new Promise((resolve) => other.close(resolve));
  expect(second).not.toBe(first);
  expect(await keptPort(file, "127.0.0.1")).toBe(second);
});
