import { expect, test } from "vitest";
import { readSettings, SettingsError } from "./settings.ts";

const good = { KULE_API_URL: "http://127.0.0.1:8080/api/v1/", KULE_CONSOLE_SECRET: "x".repeat(32) };

test("a try-out on loopback needs only the API and a secret", () => {
  expect(readSettings(good)).toEqual({
    apiUrl: "http://127.0.0.1:8080/api/v1",
    shownApiUrl: "http://127.0.0.1:8080/api/v1",
    socketOrigin: "ws://127.0.0.1:8080",
    publicUrl: "http://127.0.0.1:3000",
    host: "127.0.0.1",
    port: 3000,
    stopDelaySeconds: 0,
    metricsPort: null,
    metricsHost: "127.0.0.1",
    secrets: ["x".repeat(32)],
    visitorKey: null,
    trustedProxies: 0,
    secureCookies: false,
  });
});

test("what people see and open is the API's public address, where the panel itself takes another way", () => {
  const settings = readSettings({ ...good, KULE_PUBLIC_URL: "https://kule.example/api/v1/" });
  expect(settings).toMatchObject({
    apiUrl: "http://127.0.0.1:8080/api/v1",
    shownApiUrl: "https://kule.example/api/v1",
    socketOrigin: "wss://kule.example",
  });
  expect(() => readSettings({ ...good, KULE_PUBLIC_URL: "kule.example" })).toThrow(/KULE_PUBLIC_URL/);
});

test("cookies are secure wherever the console can be reached from outside", () => {
  const outside = { KULE_CONSOLE_HOST: "0.0.0.0", KULE_CONSOLE_PUBLIC_URL: "https://panel.example/" };
  expect(readSettings({ ...good, ...outside })).toMatchObject({
    secureCookies: true,
    publicUrl: "https://panel.example",
  });
  expect(readSettings({ ...good, KULE_CONSOLE_SECURE_COOKIES: "true" }).secureCookies).toBe(true);
});

test.each([
  [{ KULE_CONSOLE_HOST: "0.0.0.0" }],
  [{ KULE_CONSOLE_PUBLIC_URL: "panel.example" }],
  [{ KULE_CONSOLE_PUBLIC_URL: "https://panel.example/somewhere" }],
  [{ KULE_CONSOLE_PUBLIC_URL: "javascript:alert(1)" }],
])("with %j the panel cannot know where people find it", (environment) => {
  expect(() => readSettings({ ...good, ...environment })).toThrow(/KULE_CONSOLE_PUBLIC_URL/);
});

test("all invalid variables are named at once, and no secret is repeated", () => {
  let refusal: unknown;
  try {
    readSettings({ KULE_CONSOLE_SECRET: "hunter2", KULE_CONSOLE_PORT: "http", KULE_CONSOLE_KEY: "hunter3" });
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(SettingsError);
  const { problems } = refusal as SettingsError;
  expect(problems.map((problem) => problem.split(" ")[0])).toEqual([
    "KULE_API_URL",
    "KULE_CONSOLE_PORT",
    "KULE_CONSOLE_SECRET",
    "KULE_CONSOLE_KEY",
  ]);
  expect(String(refusal)).not.toMatch(/hunter[23]/);
});
