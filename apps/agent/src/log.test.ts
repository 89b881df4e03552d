import { expect, it } from "vitest";
import { memoryLog } from "./testing/memory-log.ts";

it("A log never shows a secret, wherever it turns up", () => {
  const token = 'kule_agent_"quoted"\\secret';
  const { log, text } = memoryLog([token, "8a1f3c5e-0000-4000"]);
  log.info({ deep: { anything: `before ${token} after` } }, `token ${token}`);
  log.error({ err: new Error("PVEAPIToken=cloud@pve!agent=8a1f3c5e-0000-4000") }, "failed");
  log.info({ token: "kule_agent_unknown", call: { authorization: "Bearer abcdefgh" } }, "named");
  expect(text()).not.toMatch(/quoted|8a1f3c5e|unknown|abcdefgh/);
  expect(text().match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(5);
  for (const line of text().trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
});
