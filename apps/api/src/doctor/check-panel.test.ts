import { expect, test } from "vitest";
import { readSettings } from "../platform/settings.ts";
import { checkPanel } from "./check-panel.ts";

/** What infra/server/server.env says, with another name. */
const environment = {
  KULE_DATABASE_URL: "postgres://kule_api@127.0.0.1/kule",
  KULE_PUBLIC_URL: "https://kule.invalid/api/v1",
  KULE_CONSOLE_PUBLIC_URL: "https://kule.invalid",
  KULE_CONSOLE_ORIGINS: "https://kule.invalid",
  KULE_CONSOLE_SECURE_COOKIES: "true",
  KULE_CONSOLE_KEY: "a-key-of-the-tests-which-is-long-enough",
  KULE_API_URL: "http://127.0.0.1:8080/api/v1",
};

async function said(change: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const changed = { ...environment, ...change };
  const findings = await checkPanel(readSettings(changed), changed);
  return findings.flatMap(({ ok, found }) => (ok ? [] : [found]));
}

test("a panel that asks the API on its own machine opens consoles at the public address", async () => {
  // Nothing answers at that name.
  expect(await said()).toEqual([expect.stringMatching(/^https:\/\/kule\.invalid: /)]);
});

test("consoles at an address that is the browser's own machine are wrong, whichever setting says so", async () => {
  const own = /^browsers would open consoles at .*127\.0\.0\.1.*, which is their own machine$/;
  for (const change of [
    { KULE_PUBLIC_URL: "https://127.0.0.1/api/v1" },
    { KULE_PUBLIC_URL: "" },
    { KULE_CONSOLE_SOCKETS: "ws://127.0.0.1:8080" },
  ])
    expect((await said(change)).filter((found) => own.test(found))).toHaveLength(1);
  expect((await said({ KULE_CONSOLE_SOCKETS: "wss://sockets.invalid" })).join()).not.toContain("browsers");
});
