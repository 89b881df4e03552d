import { expect, it } from "vitest";
import { crashHookFrom, noCrash } from "./crash-points.ts";

it("A process under test dies at the point and the time it was told, and stops at another", () => {
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

it("A process nobody tests has no crash points", () => {
  expect(crashHookFrom({})).toBe(noCrash);
});
