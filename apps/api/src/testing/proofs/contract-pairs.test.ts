import { Hono } from "hono";
import { expect, it } from "vitest";
import { ContractPairs, documentedPairs } from "./contract-pairs.ts";

const pairs = new ContractPairs();
const app = new Hono()
  .get("/api/v1/healthz", (context) => context.json({ status: "ok" }))
  .get("/api/v1/servers/:id", (context) => context.json({ teapot: true }, 418))
  .get("/api/v1/me", (context) => context.json({ too: "much" }));
pairs.listenTo(app);

it("records what was answered and lists the rest as missing", async () => {
  await app.request("/api/v1/healthz?x=1");
  expect(pairs.has("getHealth", 200)).toBe(true);
  expect(pairs.missing()).toHaveLength(documentedPairs().length - 1);
  expect(pairs.undocumented()).toEqual([]);
});

it("notices a status and a body that the contract does not have", async () => {
  await app.request("/api/v1/servers/srv_1");
  await app.request("/api/v1/me");
  expect(pairs.undocumented()).toEqual([
    expect.stringContaining("getServer answered 418, which the contract does not name"),
    expect.stringContaining("getMe 200"),
  ]);
});
