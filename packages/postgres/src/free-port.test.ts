import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { promisify } from "node:util";
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

test("no two processes are given the same port, whatever their numbers", async () => {
  const script = `
    Object.defineProperty(process, "pid", { value: 4242 });
    const { findFreePort } = await import(${JSON.stringify(new URL("free-port.ts", import.meta.url).href)});
    const ports = [];
    for (let count = 0; count < 31; count += 1) ports.push(await findFreePort());
    console.log(JSON.stringify(ports));
    process.stdin.resume().on("end", () => process.exit());`;
  let answered = 0;
  const run = promisify(execFile);
  const one = run(process.execPath, ["--input-type=module", "-e", script]);
  const other = run(process.execPath, ["--input-type=module", "-e", script]);
  for (const process of [one, other])
    process.child.stdout?.once("data", () => {
      // Both have theirs before one ends.
      answered += 1;
      if (answered === 2) for (const each of [one, other]) each.child.stdin?.end();
    });
  const found = (await Promise.all([one, other])).flatMap(({ stdout }) => JSON.parse(stdout) as number[]);
  expect(new Set(found).size).toBe(62);
});
