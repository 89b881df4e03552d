import { createServer } from "node:net";
import { expect, test } from "vitest";
import { findFreePort, isPortBusy } from "./free-port.ts";

test("ports are outside of the kernel's range for connections, and different each time", async () => {
  const found = [];
  for (let count = 0; count < 10; count += 1) found.push(await findFreePort());
  expect(new Set(found).size).toBe(10);
  for (const port of found) expect(port).toSatisfy((each: number) => each >= 20_000 && each < 32_768);
});

test("a port that is listened on is not free", async () => {
  const port = await findFreePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  try {
    expect(await isPortBusy(port)).toBe(true);
    // More often than this process has ports.
    for (let count = 0; count < 40; count += 1) expect(await findFreePort()).not.toBe(port);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
