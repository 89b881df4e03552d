import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { FalseClock, fitsOffset } from "./false-clock.ts";

const hourMs = 3_600_000;

test("a clock fits the offset it was set to, and no other", () => {
  expect(fitsOffset("+2h", 2 * hourMs - 5000)).toBe(true);
  expect(fitsOffset("+2h", 0)).toBe(false);
  expect(fitsOffset("-1h", -hourMs)).toBe(true);
  expect(fitsOffset("+0", 3)).toBe(true);
  expect(fitsOffset("+0", hourMs)).toBe(false);
  expect(fitsOffset("+0 x60", 10 * 60_000)).toBe(true);
  expect(fitsOffset("+0 x60", 0)).toBe(false);
  expect(fitsOffset("+0", Number.NaN)).toBe(false);
});

test("a process sees the wall clock that it is given, and the right monotonic one", () => {
  const clock = new FalseClock();
  clock.set("+2h");
  const program = "console.log(Date.now(), performance.now())";
  const output = execFileSync(process.execPath, ["-e", program], {
    env: clock.environment,
    encoding: "utf8",
  });
  const [wall = 0, monotonic = 0] = output.split(" ").map(Number);
  clock.remove();
  expect(fitsOffset("+2h", wall - Date.now())).toBe(true);
  expect(monotonic).toBeLessThan(60_000);
});

test("a clock is set while the process runs, and its timers do not notice", async () => {
  const clock = new FalseClock();
  const program = "setInterval(() => console.log(Date.now()), 20)";
  const child = spawn(process.execPath, ["-e", program], {
    env: clock.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const offsetNow = async () => {
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    return Number(String(chunk).trim().split("\n").at(-1)) - Date.now();
  };
  expect(fitsOffset("+0", await offsetNow())).toBe(true);
  clock.set("+0 x6000");
  await expect.poll(async () => fitsOffset("+0 x6000", await offsetNow())).toBe(true);
  clock.set("-1h");
  await expect.poll(async () => fitsOffset("-1h", await offsetNow())).toBe(true);
  child.kill("SIGKILL");
  clock.remove();
});
