import { expect, it } from "vitest";
import { batteryHook, crashHookFrom, noCrash } from "./crash-hook.ts";

it("A process under test crashes at the configured point and time, and stops at another", () => {
  const signals: string[] = [];
  const at = crashHookFrom(
    { BATTERY_CRASH: "ServerCreate.clone.effect-done@2", BATTERY_STOP: "ServerCreate.start.before-send" },
    (signal) => signals.push(signal),
  );
  at("ServerCreate.clone.effect-done");
  at("ServerCreate.clone.before-send");
  expect(signals).toEqual([]);
  at("ServerCreate.clone.effect-done");
  at("ServerCreate.start.before-send");
  at("ServerCreate.start.before-send");
  expect(signals).toEqual(["SIGKILL", "SIGSTOP"]);
});

it("A process outside of tests has no crash points", () => {
  expect(crashHookFrom({})).toBe(noCrash);
});

it("Only a test build reads crash points from its environment", () => {
  const environment = { BATTERY_CRASH: "api.createServer.before-commit" };
  expect(batteryHook(environment)).toBe(noCrash);
  expect(batteryHook({ ...environment, KULE_TEST_BUILD: "1" })).not.toBe(noCrash);
});
