import { rolledOut } from "@kule/api/testing/rollouts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
  // The scene's agent has just reported, and cannot update itself.
  await world.real.sql("delete from region_agent");
});
afterEach(() => world.stop());

const page = "/operator/agent-updates";
const operator = () => world.real.operator;
const report = (more: object = {}) =>
  done(
    world.real.agent.api.post("/agent/health", {
      ...{ agent_version: "1.3.0", agent_name: "agent-1", architecture: "x64", can_update: true },
      hypervisor: { kind: "proxmox", reachable: true },
      ...more,
    }),
  );
/** Starts it on the page, and returns its own page. */
async function start(): Promise<string> {
  const answer = await grace.submit(page, `${page}/rollouts`, { version: rolledOut, first_region: "ist1" });
  const [path = ""] = (answer.headers.get("location") ?? "").split("?");
  expect(path).toMatch(/^\/operator\/agent-updates\/rollouts\/rol_\w+$/);
  return path;
}

test("only operators see the releases of the agent", async () => {
  const ada = await world.signedIn("ada");
  expect((await ada.get(page)).status).not.toBe(200);
  const shown = await grace.page(page);
  for (const text of [rolledOut, "x64", "No release has been rolled out yet", "Start rollout"])
    expect(shown).toContain(text);
});

test("a rollout is started, paused, resumed and cancelled with forms", async () => {
  await report();
  const path = await start();
  expect(await grace.page(path)).toContain("Pause rollout");
  const act = (verb: string) => grace.submit(path, `${path}/${verb}`, {});
  expect((await act("pause")).headers.get("location")).toBe(`${path}?notice=paused`);
  const paused = await grace.page(`${path}?notice=paused`);
  for (const text of ["The rollout is paused.", "Resume rollout"]) expect(paused).toContain(text);
  expect((await act("resume")).headers.get("location")).toBe(`${path}?notice=resumed`);
  // The button that cancels is behind the confirmation.
  const running = await grace.page(path);
  expect(running.replaceAll(/<details[\s\S]*?<\/details>/g, "")).not.toContain(`${path}/cancel`);
  expect((await act("cancel")).headers.get("location")).toBe(`${path}?notice=cancelled`);
  const ended = await grace.page(path);
  for (const text of ["Pause rollout", "Resume rollout", "Cancel rollout"]) expect(ended).not.toContain(text);
});

test("a second rollout is refused in words, and what was chosen stays", async () => {
  await report();
  await start();
  const answer = await grace.submit(page, `${page}/rollouts`, { version: rolledOut, first_region: "ist1" });
  expect(answer.status).toBe(409);
  const text = await answer.text();
  expect(text).toContain("Another rollout is open. Wait for its end, or cancel it.");
  expect(text).toMatch(/<option value="ist1" selected/);
});

test("its page and the region's say what the agents are at, and why it stopped", async () => {
  await report();
  const path = await start();
  await world.real.runTask("advance_rollout");
  const at = new Date().toISOString();
  const update = { version: rolledOut, at };
  await report({ update: { ...update, state: "downloading", code: null, message: null } });
  for (const text of ["Updating", "agent-1", "Downloads the release", "The regions that are updating"])
    expect(await grace.page(path)).toContain(text);
  expect(await grace.page("/operator/regions")).toContain(`Rollout of ${rolledOut}`);
  await report({ update: { ...update, state: "rolled_back", code: "crashed", message: "<b>it crashed" } });
  await world.real.runTask("advance_rollout");
  const stopped = await grace.page(path);
  for (const text of [
    "Stopped",
    "Went back to its old version",
    "&lt;b&gt;it crashed",
    "Resume rollout",
    "Failed",
  ])
    expect(stopped).toContain(text);
  expect(await grace.page(page)).toContain("Region ist1: agent agent-1 went back");
});

test("the settings are saved, and a wrong time is an error at its field", async () => {
  const fields = {
    channel: "candidate",
    from_time: "22:00",
    to_time: "04:00",
    wait_minutes: "30",
    max_at_once: "2",
  };
  const save = (more: Record<string, string>) =>
    grace.submit(page, `${page}/settings`, { ...fields, ...more });
  expect((await save({ days: "mon", automatic: "true" })).headers.get("location")).toBe(
    `${page}?notice=saved`,
  );
  expect(await done(operator().get("/agent-updates"))).toMatchObject({
    ...{ channel: "candidate", wait_minutes: 30, max_at_once: 2, automatic: true, paused: false },
    window: { days: ["mon"], from_time: "22:00", to_time: "04:00" },
  });
  const wrong = await save({ days: "mon", from_time: "25:00" });
  expect(wrong.status).toBe(422);
  expect(await wrong.text()).toMatch(/value="25:00"[\s\S]*?id="from_time-problem"/);
  await save({ from_time: "", to_time: "" });
  expect(await done(operator().get("/agent-updates"))).toMatchObject({ window: null, automatic: false });
});

test("the pages are in Turkish too", async () => {
  await report();
  const path = await start();
  const turkish = await world.signedIn("grace", { "accept-language": "tr" });
  expect(await turkish.page(path)).toContain("Dağıtımı duraklat");
});
