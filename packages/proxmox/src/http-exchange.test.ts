import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { httpsTransport, NoAnswer } from "./http-exchange.ts";
import { systemRuntime } from "./runtime.ts";

const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);
beforeEach(() => void process.prependListener("uncaughtException", note));
afterEach(() => {
  process.removeListener("uncaughtException", note);
  uncaught.length = 0;
});

test("a call whose caller has aborted already is not sent, and affects no other", async () => {
  const transport = httpsTransport({ fingerprints: [Array(32).fill("AB").join(":")] }, systemRuntime);
  const call = transport.exchange({
    alone: false,
    method: "GET",
    url: new URL("https://127.0.0.1:9/api2/json/version"),
    headers: {},
    body: null,
    deadlineMilliseconds: 5_000,
    signal: AbortSignal.abort(new Error("the agent stops")),
  });
  const error = await call.then(
    () => expect.fail("an answer"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(NoAnswer);
  expect(error).toMatchObject({ message: "the agent stops", sent: false });
  // A destroyed request reports its end a moment later.
  await delay(20);
  expect(uncaught).toEqual([]);
  transport.close();
});
