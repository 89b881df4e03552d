import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeKeyPair, privateKeyOf, signSuccessor } from "@kule/agent-release/publish";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ReleaseFolders } from "../testing/release-folders.ts";
import { ReleaseFolder } from "./release-folder.ts";

let made: ReleaseFolders;
let folder: ReleaseFolder;
beforeEach(() => {
  made = new ReleaseFolders();
  folder = new ReleaseFolder(made.path, 0);
});
afterEach(() => {
  folder.stop();
  made.remove();
});

const contents = async () => {
  const found = await folder.checked();
  if (found === null) throw new Error("there is no folder");
  return found;
};
const versions = async () => (await contents()).releases.map(({ release }) => release.version);
const problems = async () => (await contents()).problems;
const problemOf = async (version: string) =>
  (await contents()).releases.find(({ release }) => release.version === version)?.files[0]?.checked?.problem;

describe("a folder of releases", () => {
  test("lists them by their version, the newest first", async () => {
    for (const version of ["1.9.0", "1.10.0", "1.10.0-rc.2", "1.10.0-rc.10"]) made.add(version);
    expect(await versions()).toEqual(["1.10.0", "1.10.0-rc.10", "1.10.0-rc.2", "1.9.0"]);
    expect(await problems()).toEqual([]);
    expect(await problemOf("1.10.0")).toBe(null);
  });

  test("one that is not there has no release, and says so", async () => {
    rmSync(made.path, { recursive: true });
    expect(await contents()).toMatchObject({
      releases: [],
      problems: [{ path: ".", message: "it cannot be read (ENOENT)" }],
    });
    expect(await new ReleaseFolder(null).read()).toBe(null);
  });

  test("without its setting there is none", async () => {
    expect(await new ReleaseFolder(null).find("1.4.0")).toBe(null);
  });

  test.each([
    [
      "is cut off",
      (path: string) => truncateSync(path, 500),
      /^it has 500 bytes, and 100000 by its manifest$/,
    ],
    ["is longer", (path: string) => appendFileSync(path, "x"), /^it has 100001 bytes/],
    [
      "has other bytes",
      (path: string) => writeFileSync(path, Buffer.alloc(100_000)),
      /^its bytes are not those of its manifest$/,
    ],
    ["is missing", (path: string) => rmSync(path), /^it is missing$/],
    [
      "is a pipe",
      (path: string) => {
        rmSync(path);
        execFileSync("mkfifo", [path]);
      },
      /^it is no file$/,
    ],
  ])("a file that %s is not the one of its manifest", async (_what, spoil, problem) => {
    made.add("1.4.0");
    spoil(made.fileOf("1.4.0"));
    expect(await problemOf("1.4.0")).toMatch(problem);
    // The other architecture's is.
    expect((await contents()).releases[0]?.files[1]?.checked?.problem).toBe(null);
  });

  test("another file in the place of one that was compared is compared too, and so is one that is mended", async () => {
    const bytes = made.add("1.4.0");
    expect(await problemOf("1.4.0")).toBe(null);
    writeFileSync(made.fileOf("1.4.0"), Buffer.alloc(bytes.length));
    expect(await problemOf("1.4.0")).toBe("its bytes are not those of its manifest");
    writeFileSync(made.fileOf("1.4.0"), bytes);
    expect(await problemOf("1.4.0")).toBe(null);
  });

  test("a file that is asked for is compared before the others that wait", async () => {
    for (let minor = 0; minor < 20; minor += 1) made.add(`1.${minor}.0`);
    const oldest = (await folder.find("1.0.0"))?.files[0];
    if (oldest === undefined) throw new Error("there is no file");
    expect(oldest.checked).toBe(null);
    expect((await folder.checkedSoon(oldest)).checked).toMatchObject({ problem: null });
    const others = (await folder.read())?.releases.filter(({ files }) => files[0]?.checked === null);
    expect(others?.length).toBeGreaterThan(0);
  });

  test("is read again at most twice a minute", async () => {
    made.add("1.4.0");
    const slow = new ReleaseFolder(made.path);
    await slow.checked();
    made.add("1.5.0");
    expect((await slow.read())?.releases).toHaveLength(1);
    expect(await versions()).toHaveLength(2);
    slow.stop();
  });

  test.each([
    ["is no JSON", "{", "it is no JSON"],
    ["is no envelope", "[]", /payload/],
    ["is larger than an envelope may be", `"${"x".repeat(70_000)}"`, "it is larger than 65536 bytes"],
    [
      "has a payload that is no release",
      JSON.stringify({ payload: Buffer.from("{}").toString("base64"), signatures: [] }),
      "kind is not kule-agent-release",
    ],
    [
      "has a payload that is no JSON",
      JSON.stringify({ payload: Buffer.from("{").toString("base64"), signatures: [] }),
      "it is no object",
    ],
  ])("a manifest that %s is a problem, and no release", async (_what, text, message) => {
    made.add("1.4.0");
    mkdirSync(join(made.path, "1.5.0"));
    writeFileSync(join(made.path, "1.5.0/manifest.json"), text);
    expect(await versions()).toEqual(["1.4.0"]);
    expect(await problems()).toEqual([
      {
        path: "1.5.0/manifest.json",
        message: typeof message === "string" ? message : expect.stringMatching(message),
      },
    ]);
  });

  test("a manifest of another version, a pipe in its place and a folder without one are problems", async () => {
    made.add("1.4.0");
    symlinkSync(join(made.path, "1.4.0"), join(made.path, "1.5.0"));
    mkdirSync(join(made.path, "1.6.0"));
    execFileSync("mkfifo", [join(made.path, "1.6.0/manifest.json")]);
    mkdirSync(join(made.path, "1.7.0"));
    writeFileSync(join(made.path, "1.8.0"), "");
    expect(await versions()).toEqual(["1.4.0"]);
    expect(await problems()).toEqual([
      { path: "1.8.0/manifest.json", message: "there is none" },
      { path: "1.7.0/manifest.json", message: "there is none" },
      { path: "1.6.0/manifest.json", message: "it is no file" },
      { path: "1.5.0/manifest.json", message: "it is the manifest of 1.4.0" },
    ]);
  });

  test("of a thousand entries it offers the newest 200 releases, and names a hundred problems", async () => {
    for (let minor = 0; minor < 300; minor += 1) made.add(`1.${minor}.0`, {}, Buffer.from(`${minor}`));
    for (let more = 0; more < 700; more += 1) writeFileSync(join(made.path, `notes-${more}`), "");
    const found = await contents();
    expect(found.releases).toHaveLength(200);
    expect(found.releases.at(0)?.release.version).toBe("1.299.0");
    expect(found.releases.at(-1)?.release.version).toBe("1.100.0");
    expect(found.problems).toHaveLength(100);
    expect(await folder.find("1.99.0")).toBe(null);
  });

  test("hidden entries are on their way in, and say nothing", async () => {
    made.add("1.4.0");
    mkdirSync(join(made.path, ".1.5.0"));
    expect(await problems()).toEqual([]);
  });

  test.each([
    "../1.4.0",
    "1.4.0/../1.4.0",
    "1.4",
    "1.4.0\0",
    "01.4.0",
    "1.4.0 ",
    "",
    "__proto__",
    "1.4.0%2f",
  ])("%j is the version of none", async (version) => {
    made.add("1.4.0");
    expect(await folder.find("1.4.0")).not.toBe(null);
    expect(await folder.find(version)).toBe(null);
  });

  test("has the successors of the publisher's keys in their order", async () => {
    const [first, second] = [makeKeyPair(), makeKeyPair()];
    const successor = signSuccessor({ generation: 2, keys: [second.publicKey] }, [
      privateKeyOf(first.privateKey),
    ]);
    writeFileSync(join(made.path, "keys.json"), JSON.stringify({ envelopes: [successor] }));
    expect((await contents()).keys).toEqual([successor]);
    for (const [text, message] of [
      ["{}", "it has no list of envelopes"],
      ["null", "it has no list of envelopes"],
      ["[", "it is no JSON"],
      ['{"envelopes":[{}]}', "one of its envelopes is none"],
      [JSON.stringify({ envelopes: Array(17).fill(successor) }), "it has more than 16 envelopes"],
    ] as const) {
      writeFileSync(join(made.path, "keys.json"), text);
      expect(await contents()).toMatchObject({ keys: [], problems: [{ path: "keys.json", message }] });
    }
  });
});
