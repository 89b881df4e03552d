import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderLabRegionFile } from "@kule/testing/lab-region-file";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld } from "../testing/api-world.ts";
import { readDirectRegions } from "./direct-regions.ts";
import { keepToken } from "./kept-token.ts";

let directory: string;
let file: string;
let world: ApiWorld;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-direct-"));
  file = join(directory, "region.yaml");
  writeFileSync(
    file,
    renderLabRegionFile("https://kule.example/api/v1", {
      url: "https://127.0.0.1:8006",
      fingerprint256: "AB:".repeat(31) + "AB",
    }),
  );
  world = await ApiWorld.open();
});
afterAll(async () => {
  await world.close();
  rmSync(directory, { recursive: true, force: true });
});

const token = { KULE_PVE_TOKEN: "kule@pve!kule=00000000-0000-0000-0000-000000000000" };

describe("the worker's regions", () => {
  test("are none unless they are named", () => {
    expect(readDirectRegions({})).toEqual([]);
    expect(readDirectRegions({ KULE_DIRECT_REGIONS: " , " })).toEqual([]);
  });

  test("are read from their files, with the hypervisor's token and without an agent's", () => {
    const [region] = readDirectRegions({ ...token, KULE_DIRECT_REGIONS: file });
    expect(region?.file.region).toBe("lab1");
    expect(region?.file.hypervisor.token.reveal()).toBe(token.KULE_PVE_TOKEN);
  });

  test("must be right: a file without its secret, or a region twice, stops the worker", () => {
    expect(() => readDirectRegions({ KULE_DIRECT_REGIONS: file })).toThrow(/KULE_PVE_TOKEN/);
    expect(() => readDirectRegions({ ...token, KULE_DIRECT_REGIONS: `${file},${file}` })).toThrow(
      /lab1 twice/,
    );
  });

  test("are called with a token of the region that is kept while the worker runs, and ends with it", async () => {
    await world.addRegion("lab1");
    const [region] = readDirectRegions({ ...token, KULE_DIRECT_REGIONS: file });
    if (region === undefined) throw new Error("no region");
    const caller = new ApiCaller(world.app, region.token.secret);
    expect((await caller.get("/me")).status).toBe(401);
    const { deps } = world.replica;
    const kept = keepToken(
      deps,
      region.token,
      { region: "lab1", name: "here" },
      new AbortController().signal,
    );
    await kept.begun;
    expect((await caller.get("/me")).body).toMatchObject({
      actor: "agent",
      region: "lab1",
      token: { name: "worker here", expires_at: expect.any(String) },
    });
    expect((await caller.get("/servers")).status).toBe(403);
    await kept.end();
    await expect.poll(async () => (await caller.get("/me")).status).toBe(401);
  });
});
