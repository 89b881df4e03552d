// The updater on a machine: every way in which a version can be bad, and its own death at every point.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LAYOUT } from "../install/layout.ts";
import { type Behaviour, UpdateRig } from "../testing/update-rig.ts";
import { stateFile, writeMachineState } from "./machine-state.ts";
import { downloadedFile, manifestFile, REQUEST_FILE } from "./request.ts";

let rig: UpdateRig;
beforeEach(() => {
  rig = new UpdateRig();
});
afterEach(() => rig.end());

describe("An update", () => {
  test("goes to a version that works, which is the updater from then on", async () => {
    const id = rig.ask("1.1.0");
    expect(await rig.run()).toEqual({ end: "done" });
    expect(rig.state).toMatchObject({
      phase: "idle",
      highest_version: "1.1.0",
      bad_versions: [],
      keys: rig.publisher.builtIn,
      result: { request_id: id, version: "1.1.0", state: "done", code: null },
    });
    expect([rig.current, rig.updater]).toEqual(["1.1.0", "1.1.0"]);
    expect(rig.flaws()).toEqual([]);
    // It is done once.
    await rig.run();
    expect(rig.restarts).toBe(2);
  });

  test("leaves the version before, and removes older ones", async () => {
    for (const version of ["1.1.0", "1.2.0", "1.3.0"]) {
      rig.ask(version);
      await rig.run();
    }
    expect(rig.versions).toEqual(["1.2.0", "1.3.0"]);
  });

  test("leaves the old version in charge until the new one has proven itself", async () => {
    rig.ask("1.1.0");
    const updaters = new Set<string | null>();
    rig.onLook = () => void updaters.add(rig.updater);
    await rig.run();
    expect([...updaters]).toEqual(["1.0.0"]);
  });

  test("goes back only to a release that is signed for it", async () => {
    rig.ask("1.1.0");
    await rig.run();
    rig.ask("0.9.0");
    await rig.run();
    expect(rig.state.result).toMatchObject({ state: "refused", code: "not_newer" });
    rig.ask("0.9.0", {}, { rollback_to: true });
    await rig.run();
    expect(rig.current).toBe("0.9.0");
    // What has run here before is still not taken again.
    rig.ask("1.0.5");
    await rig.run();
    expect(rig.state.result).toMatchObject({ state: "refused", code: "replayed" });
  });

  test("follows the publisher's newer keys, and remembers them when nothing comes of the release", async () => {
    const old = rig.publisher.sign("1.2.0", Buffer.from("by the old key"));
    rig.publisher.rotate();
    rig.ask("1.1.0", { checkStatus: 1 });
    await rig.run();
    expect(rig.state.keys?.generation).toBe(2);
    rig.ask("1.2.0", { file: "by the old key" });
    writeFileSync(rig.inAgentFolder(manifestFile("1.2.0")), JSON.stringify(old));
    writeFileSync(rig.inAgentFolder("keys.json"), '{"envelopes":[]}');
    await rig.run();
    expect(rig.state.result).toMatchObject({ version: "1.2.0", state: "refused", code: "untrusted_key" });
  });
});

const BAD: readonly { what: string; does: Behaviour; code: string; state: "failed" | "rolled_back" }[] = [
  { what: "ends at once", does: { endsAfter: 0 }, code: "crashed", state: "rolled_back" },
  {
    what: "dies of a segmentation fault",
    does: { endsAfter: 1, how: "signal SEGV" },
    code: "crashed",
    state: "rolled_back",
  },
  {
    what: "hangs before it does anything",
    does: { hangs: true },
    code: "no_sign_of_life",
    state: "rolled_back",
  },
  { what: "dies after 20 s", does: { endsAfter: 20 }, code: "crashed", state: "rolled_back" },
  {
    what: "works, and dies after two minutes",
    does: { endsAfter: 120, how: "oom-kill" },
    code: "crashed",
    state: "rolled_back",
  },
  { what: "takes no jobs", does: { claimsNothing: true }, code: "not_working", state: "rolled_back" },
  { what: "reports no health", does: { reportsNothing: true }, code: "not_working", state: "rolled_back" },
  {
    what: "says that it is another version",
    does: { says: "1.0.9" },
    code: "wrong_version",
    state: "failed",
  },
  { what: "cannot read the settings", does: { checkStatus: 78 }, code: "check_failed", state: "failed" },
  {
    what: "needs a library that is not here",
    does: { file: "#!/lib/ld-of-another-machine.so\n" },
    code: "cannot_start",
    state: "failed",
  },
  {
    what: "is for another kind of machine",
    does: { file: "\x7fELF\x02\x01\x01 of another machine" },
    code: "cannot_start",
    state: "failed",
  },
];

describe("A version that", () => {
  test.each(BAD)("$what is not kept, and not tried again", async ({ does, code, state }) => {
    const id = rig.ask("1.1.0", does);
    await rig.run();
    expect(rig.state).toMatchObject({
      phase: "idle",
      highest_version: "1.0.0",
      bad_versions: [{ version: "1.1.0", code }],
      result: { request_id: id, version: "1.1.0", state, code, message: expect.stringMatching(/\w+ \w+/) },
    });
    expect([rig.current, rig.updater]).toEqual(["1.0.0", "1.0.0"]);
    expect(rig.flaws()).toEqual([]);
    rig.ask("1.1.0");
    await rig.run();
    expect(rig.state.result).toMatchObject({ state: "refused", code: "known_bad" });
    rig.ask("1.2.0");
    await rig.run();
    expect(rig.current).toBe("1.2.0");
  });

  test("works with a control plane that is away is neither kept nor taken back until it answers", async () => {
    rig.isReachable = false;
    rig.ask("1.1.0");
    for (let day = 0; day < 7; day += 1) {
      await rig.run();
      expect(rig.state.phase).toBe("watching");
      expect(rig.current).toBe("1.1.0");
      rig.pass(86_400_000);
    }
    rig.isReachable = true;
    await rig.runToEnd();
    expect(rig.state.result).toMatchObject({ state: "done" });
  });

  test("cannot use settings that the old version cannot use either is tried again later", async () => {
    rig.installVersion("1.0.0", { checkStatus: 78 });
    rig.ask("1.1.0", { checkStatus: 78 });
    await rig.run();
    expect(rig.state).toMatchObject({ bad_versions: [], result: { state: "failed", code: "settings" } });
  });

  test("takes the machine down with it is taken back after the third start", async () => {
    rig.isReachable = false;
    rig.ask("1.1.0");
    for (let boot = 0; boot < 3; boot += 1) {
      await rig.run();
      rig.reboot();
    }
    rig.isReachable = true;
    await rig.run();
    expect(rig.state.result).toMatchObject({ state: "rolled_back", code: "machine_restarts" });
    expect(rig.current).toBe("1.0.0");
  });
});

describe("An updater that cannot go back", () => {
  test("to a version that does not start either stays with it, and says so", async () => {
    rig.ask("1.1.0", { endsAfter: 5 });
    rig.onLook = () => rig.installVersion("1.0.0", { endsAfter: 0 });
    await rig.run();
    expect(rig.current).toBe("1.0.0");
    expect(rig.state.result).toMatchObject({
      state: "rolled_back",
      message: expect.stringContaining("1.0.0, to which it went back, does not start either"),
    });
  });

  test("to a version that is gone keeps the new one, and says so", async () => {
    rig.ask("1.1.0", { endsAfter: 30 });
    rig.onLook = () => rmSync(join(rig.root, LAYOUT.versions, "1.0.0"), { recursive: true, force: true });
    await rig.run();
    expect([rig.current, rig.updater]).toEqual(["1.1.0", "1.1.0"]);
    expect(rig.state.result).toMatchObject({
      state: "failed",
      message: expect.stringContaining("1.0.0 is not there any more"),
    });
  });
});

describe("What the agent's user leaves", () => {
  test("is no more than what the publisher has signed", async () => {
    rig.ask("1.1.0");
    writeFileSync(
      rig.inAgentFolder(downloadedFile("1.1.0")),
      readFileSync(rig.inAgentFolder(downloadedFile("1.1.0")), "utf8").replace("checked", "changed"),
    );
    await rig.run();
    expect(rig.state).toMatchObject({ result: { state: "refused", code: "wrong_file" }, bad_versions: [] });
    expect(rig.versions).toEqual(["1.0.0"]);
  });

  test("is not read through a link", async () => {
    for (const name of [downloadedFile("1.1.0"), manifestFile("1.1.0"), REQUEST_FILE]) {
      rmSync(rig.inAgentFolder(""), { recursive: true, force: true });
      rig.ask("1.1.0");
      const elsewhere = join(rig.root, `elsewhere-${name}`);
      writeFileSync(elsewhere, readFileSync(rig.inAgentFolder(name)));
      rmSync(rig.inAgentFolder(name));
      symlinkSync(elsewhere, rig.inAgentFolder(name));
      await rig.run();
      expect(rig.current, name).toBe("1.0.0");
    }
  });

  test("is not waited for, and read no further than it may be long", async () => {
    rig.ask("1.1.0");
    rmSync(rig.inAgentFolder(REQUEST_FILE));
    execFileSync("mkfifo", [rig.inAgentFolder(REQUEST_FILE)]);
    expect(await rig.run()).toEqual({ end: "done" });
    rmSync(rig.inAgentFolder(REQUEST_FILE));
    const id = rig.ask("1.1.0");
    writeFileSync(
      rig.inAgentFolder(REQUEST_FILE),
      `${" ".repeat(10_000)}${JSON.stringify({ format: 1, id, version: "1.1.0" })}`,
    );
    await rig.run();
    expect(rig.state.result).toBeNull();
  });

  test("is copied before it is verified: what is changed afterwards changes nothing", async () => {
    rig.ask("1.1.0");
    rig.onLook = () => writeFileSync(rig.inAgentFolder(downloadedFile("1.1.0")), "something else");
    await rig.run();
    expect(rig.current).toBe("1.1.0");
    expect(rig.flaws()).toEqual([]);
  });
});

describe("An updater that is killed", () => {
  const ways: readonly { what: string; does: Behaviour; ends: string; state: string }[] = [
    { what: "on the way to a version that works", does: {}, ends: "1.1.0", state: "done" },
    {
      what: "on the way to one that dies after 40 s",
      does: { endsAfter: 40 },
      ends: "1.0.0",
      state: "rolled_back",
    },
    { what: "before it refuses one", does: { says: "1.0.9" }, ends: "1.0.0", state: "failed" },
  ];

  test.each(ways)(
    "at any point $what leaves a version that works, and the next one ends it",
    async ({ does, ends, state }) => {
      rig.ask("1.1.0", does);
      await rig.run();
      const points = rig.trace.length;
      expect(points).toBeGreaterThan(15);
      for (let kill = 0; kill < points; kill += 1) {
        rig.end();
        rig = new UpdateRig();
        rig.ask("1.1.0", does);
        expect(await rig.run(kill)).toEqual({ end: "killed" });
        const where = rig.trace.at(-1) ?? "";
        expect(rig.flaws(), where).toEqual([]);
        // Longer than the timer needs, and a restart of the machine at every other point.
        if (kill % 2 === 1) rig.reboot();
        rig.pass(300_000);
        const run = await rig.runToEnd();
        expect(run, where).toEqual({ end: "done" });
        expect(rig.flaws(), where).toEqual([]);
        expect([rig.current, rig.updater, rig.state.phase], where).toEqual([ends, ends, "idle"]);
        expect(rig.state.result, where).toMatchObject({ version: "1.1.0", state });
      }
    },
    120_000,
  );

  test("each time while it prepares gives up after three of them", async () => {
    rig.ask("1.1.0");
    for (let times = 0; times < 6 && rig.state.result === null; times += 1)
      await rig.run("update.try.before");
    expect(rig.state.result).toMatchObject({ state: "failed", code: "interrupted" });
    expect(rig.current).toBe("1.0.0");
  });
});

test("an operator who stops the service while it is watched has not crashed it", async () => {
  rig.ask("1.1.0");
  rig.onLook = (now) => {
    if (now - rig.startedMs > 30_000) rig.stopService();
  };
  await rig.run();
  expect(rig.state.phase).toBe("watching");
  expect(rig.current).toBe("1.1.0");
});

test("a state that is not one of ours is not guessed", async () => {
  rig.ask("1.1.0");
  writeFileSync(stateFile(rig.root), "{");
  const run = await rig.run();
  expect(run.end === "failed" ? run.error.message : "").toMatch(/is not a state of updates\n {4}fix: /);
  expect(rig.current).toBe("1.0.0");
});

test("a request that was answered is not answered again", async () => {
  rig.ask("1.1.0", { says: "1.0.9" });
  await rig.run();
  const { result } = rig.state;
  writeMachineState(rig.root, { ...rig.state, bad_versions: [] });
  await rig.run();
  expect(rig.state.result).toEqual(result);
  expect(existsSync(rig.inAgentFolder(REQUEST_FILE))).toBe(true);
});
