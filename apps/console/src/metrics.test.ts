import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { documentedFor, registeredIn } from "@kule/testing/monitoring-page";
import { requirePart } from "@kule/testing/parts";
import { probePromtool, promtool } from "@kule/testing/promtool";
import { expect, test } from "vitest";
import { createConsoleMetrics } from "./metrics.ts";
import { startTestPanel } from "./testing/test-panel.ts";

const tool = await requirePart("promtool", probePromtool, import.meta.filename);

test("the page of the metrics has every metric of the console, and no other", () => {
  expect(registeredIn(createConsoleMetrics().registry)).toEqual(documentedFor("console"));
});

test("pages and the API's answers are counted, and no path of a visitor is a label", async () => {
  const api = createServer((_, response) => response.writeHead(503).end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => api.once("listening", resolve));
  const { port } = api.address() as AddressInfo;
  const panel = await startTestPanel(`http://127.0.0.1:${port}/api/v1`);
  const get = async (path: string, method = "GET") =>
    (await panel.app.request(`${panel.url}${path}`, { method })).status;
  expect(await get("/healthz")).toBe(200);
  await get("/assets/never-there.js", "PROPFIND");
  await get("/sign-in");
  api.close();
  api.closeAllConnections();
  await get("/sign-in");
  const text = await panel.metrics.registry.metrics();
  expect(text).toContain('kule_console_requests_total{method="GET",status="200"}');
  expect(text).toMatch(/^kule_console_requests_total\{method="other",status="\d+"\} 1$/m);
  expect(text).toMatch(/^kule_console_requests_open 0$/m);
  expect(text).toMatch(/^kule_console_api_requests_total\{status="503"\} [1-9]/m);
  expect(text).toMatch(/^kule_console_api_requests_total\{status="none"\} [1-9]/m);
  expect(text).not.toContain("never-there");
  if (!tool.missing) expect(promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
  await panel.stop();
});
