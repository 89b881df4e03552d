import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { ed25519Line } from "../../testing/ssh-key-lines.ts";
import { sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ApiWorld;
let acme: TestOrganisation;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
});
afterAll(() => world.close());

const keygen = await requirePart(
  "ssh-keygen",
  () => {
    try {
      execFileSync("ssh-keygen", ["-?"], { stdio: "ignore" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "ssh-keygen is not installed";
    }
    return undefined;
  },
  import.meta.filename,
);

test("a key is stored without its comment in the key, and read back", async () => {
  const line = ed25519Line("ada@laptop");
  const created = await acme.owner.post("/ssh-keys", {
    name: "laptop",
    public_key: `  ${line}\n`,
    labels: { a: "1" },
  });
  expect(created.status).toBe(201);
  expect(created.headers.get("location")).toBe(`/api/v1/ssh-keys/${created.body.id}`);
  expect(created.body).toMatchObject({
    id: expect.stringMatching(/^key_/),
    name: "laptop",
    public_key: line.split(" ").slice(0, 2).join(" "),
    type: "ed25519",
    bits: 256,
    comment: "ada@laptop",
    labels: { a: "1" },
    created_by: { type: "token", name: "owner token" },
    last_used_at: null,
    generation: 1,
  });
  const read = await acme.owner.get(`/ssh-keys/${created.body.id}`);
  expect(read.body).toEqual(created.body);
  expect(read.headers.get("etag")).toBe('"g1"');
});

test("a name and a key are each in an organisation once", async () => {
  const line = ed25519Line();
  const first = await acme.owner.post("/ssh-keys", { name: "once", public_key: line });
  const namesake = await acme.owner.post("/ssh-keys", { name: "once", public_key: ed25519Line() });
  expect([namesake.status, namesake.body.code]).toEqual([409, "name_taken"]);
  expect(namesake.body.precondition).toMatchObject({ resource: first.body.id, fix: expect.any(String) });
  const twin = await acme.owner.post("/ssh-keys", {
    name: "twice",
    public_key: `${line} with another comment`,
  });
  expect([twin.status, twin.body.code]).toEqual([409, "duplicate_key"]);
  const other = await world.addOrganisation("other");
  expect((await other.owner.post("/ssh-keys", { name: "once", public_key: line })).status).toBe(201);
});

test("of many concurrent creates with the same name one succeeds, and the others get name_taken", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      acme.owner.post("/ssh-keys", { name: "race", public_key: ed25519Line() }),
    ),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(19).fill(409)]);
});

test("labels are merged: a value sets, null removes, other labels stay", async () => {
  const body = { name: "labels", public_key: ed25519Line(), labels: { a: "1", b: "2" } };
  const { body: key } = await acme.owner.post("/ssh-keys", body);
  const changed = await acme.owner.patch(`/ssh-keys/${key.id}`, { labels: { b: null, c: "3" } });
  expect(changed.body).toMatchObject({ labels: { a: "1", c: "3" }, generation: 2, name: "labels" });
  const many = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`x${index}`, ""]));
  const tooMany = await acme.owner.patch(`/ssh-keys/${key.id}`, { labels: many, name: "" });
  expect(tooMany.status).toBe(422);
  const fields = new Set(tooMany.body.errors.map((error: { field: string }) => error.field));
  expect([...fields].sort()).toEqual(["labels", "name"]);
});

test("a key names the servers that were given it, to callers who may see servers", async () => {
  await world.addRegion("keys");
  const { body: key } = await acme.owner.post("/ssh-keys", { name: "used", public_key: ed25519Line() });
  expect(key).toMatchObject({ used_by_servers: [], used_by_server_count: 0 });
  const made: string[] = [];
  for (const name of ["first", "second"]) {
    const body = { name, region: "keys", image: "debian-13", package: "s", ssh_key_ids: [key.id] };
    made.unshift((await acme.owner.post("/servers", body)).body.server.id);
  }
  const wanted = { used_by_servers: made, used_by_server_count: 2 };
  expect((await acme.owner.get(`/ssh-keys/${key.id}`)).body).toMatchObject(wanted);
  const listed = (await acme.owner.get("/ssh-keys?name=used")).body.items;
  expect(listed).toMatchObject([wanted]);
  const changed = await acme.owner.patch(`/ssh-keys/${key.id}`, { name: "used still" });
  expect(changed.body).toMatchObject(wanted);
  const blind = await world.addToken(acme.id, "viewer", ["ssh_key:read"]);
  expect((await blind.get(`/ssh-keys/${key.id}`)).body).toMatchObject({
    used_by_servers: [],
    used_by_server_count: 0,
  });
  expect((await acme.owner.delete(`/ssh-keys/${key.id}`)).status).toBe(204);
  expect((await acme.owner.get(`/servers/${made[0]}`)).body.ssh_key_ids).toEqual([key.id]);
});

test("a key shows when it was last put on a server: when one was created, or rebuilt, with it", async () => {
  const servers = await ServerWorld.open();
  try {
    const { owned, agent } = servers;
    const key = async (name: string) =>
      (await owned.post("/ssh-keys", { name, public_key: ed25519Line() })).body.id as string;
    const [one, other] = [await key("one"), await key("other")];
    const usedAt = async (id: string) => (await owned.get(`/ssh-keys/${id}`)).body.last_used_at;
    const { server } = await servers.create({ ssh_key_ids: [one] });
    const created = await agent.take("ServerCreate");
    // A request is not a use: the create may fail.
    expect(await usedAt(one)).toBeNull();
    await agent.succeed(created);
    const first = await usedAt(one);
    expect(first).toBe((await servers.job(created.id)).finished_at);
    expect(await usedAt(other)).toBeNull();

    const again = { image: "debian-13", confirm_name: server.name, ssh_key_ids: [other] };
    await owned.post(`/servers/${server.id}/rebuild`, again);
    await agent.fail(await agent.take("ServerRebuild"));
    expect(await usedAt(other)).toBeNull();
    await owned.post(`/servers/${server.id}/rebuild`, again);
    await agent.work();
    expect(await usedAt(other)).not.toBeNull();
    expect(await usedAt(one)).toBe(first);
    const usedBy = async (id: string) => (await owned.get(`/ssh-keys/${id}`)).body.used_by_servers;
    expect([await usedBy(one), await usedBy(other)]).toEqual([[], [server.id]]);
    // A use does not change the version that a caller who changes the key must have seen.
    expect((await owned.get(`/ssh-keys/${other}`)).body).toMatchObject({ generation: 1 });
    await owned.post(`/servers/${server.id}/power`, { action: "reboot" });
    const before = await usedAt(other);
    await agent.work();
    expect(await usedAt(other)).toBe(before);
    await owned.delete(`/servers/${server.id}`);
    await agent.work();
    await servers.passBuffer(server.id);
    await sweepRemovalBuffers(servers.world.replica.deps);
    await agent.work();
    expect(await usedBy(other)).toEqual([]);
  } finally {
    await servers.close();
  }
});

test("a deleted key does not exist", async () => {
  const { body } = await acme.owner.post("/ssh-keys", { name: "gone", public_key: ed25519Line() });
  expect((await acme.owner.delete(`/ssh-keys/${body.id}`)).status).toBe(204);
  expect((await acme.owner.get(`/ssh-keys/${body.id}`)).status).toBe(404);
  expect((await acme.owner.delete(`/ssh-keys/${body.id}`)).status).toBe(404);
});

describe("what OpenSSH says of a key, we say", () => {
  test.skipIf(keygen.missing).each([
    ["ed25519", "256", "ed25519"],
    ["ecdsa", "256", "ecdsa"],
    ["ecdsa", "521", "ecdsa"],
    ["rsa", "2048", "rsa"],
  ])("%s of %s bits", async (type, bits, ours) => {
    const directory = mkdtempSync(join(tmpdir(), "kule-key-"));
    try {
      const file = join(directory, "key");
      execFileSync("ssh-keygen", ["-q", "-t", type, "-b", bits, "-N", "", "-C", "me@here", "-f", file]);
      const fingerprint = (hash: string) =>
        execFileSync("ssh-keygen", ["-l", "-E", hash, "-f", `${file}.pub`], { encoding: "utf8" }).split(" ");
      const body = { name: `${type}-${bits}`, public_key: readFileSync(`${file}.pub`, "utf8") };
      const created = await acme.owner.post("/ssh-keys", body);
      expect(created.body).toMatchObject({
        type: ours,
        bits: Number(fingerprint("sha256")[0]),
        fingerprint_sha256: fingerprint("sha256")[1],
        fingerprint_md5: fingerprint("md5")[1]?.replace("MD5:", ""),
        comment: "me@here",
      });
      const privateKey = await acme.owner.post("/ssh-keys", {
        name: "p",
        public_key: readFileSync(file, "utf8"),
      });
      expect(privateKey.body.errors).toMatchObject([
        { field: "public_key", message: expect.stringContaining("private key") },
      ]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
