// Access to a guest: passwords and keys, with API, worker, agent and lab as processes of their own.

import { generateKeyPairSync } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import { guestFacts, passwordFits } from "@kule/lab/console/guest-facts";
import type { VmDocument } from "@kule/lab/documents";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 3600 });
  world.startAgent();
}, 180_000);
afterAll(() => world?.end());

/** The VM of a server as the lab has it: its disk, and the logins that its guest accepts. */
async function vmOf(serverId: string): Promise<VmDocument> {
  const vms = (await (await fetch(`${world.labControlUrl}/vms`)).json()) as VmDocument[];
  const vm = vms.find(({ config }) => config.description?.includes(`srv=${serverId} `));
  if (vm === undefined) throw new Error(`no VM of ${serverId}`);
  return vm;
}
const opens = async (serverId: string, password: string | null | undefined) => {
  const vm = await vmOf(serverId);
  return passwordFits(vm, guestFacts(vm).user, password ?? "");
};

async function done(answer: { data?: unknown; error?: unknown }, status = "succeeded") {
  const { job } = (answer.data ?? {}) as { job?: { id: string } };
  if (job === undefined) throw new Error(JSON.stringify(answer.error));
  const ended = await world.untilDone(job.id);
  expect(ended.status, JSON.stringify(ended.error)).toBe(status);
  return ended;
}

async function newServer(name: string, more: Partial<Schemas["ServerCreate"]> = {}) {
  const created = await world.createServer(name, undefined, more);
  await done({ data: created });
  return { id: created.server.id, password: created.console_password };
}

const path = (id: string) => ({ params: { path: { server_id: id } } });
const reset = (id: string, body: Schemas["ServerPasswordResetRequest"]) =>
  world.organisation.POST("/servers/{server_id}/password-reset", { ...path(id), body });
const power = (id: string, action: Schemas["ServerPowerRequest"]["action"]) =>
  world.organisation.POST("/servers/{server_id}/power", { ...path(id), body: { action } });

it("a password is set by the guest agent at once, and at the next boot where there is none", {
  timeout: 180_000,
}, async () => {
  const [open, mute] = await Promise.all([newServer("open"), newServer("mute")]);
  expect(await opens(open.id, open.password)).toBe(true);
  await fetch(`${world.labControlUrl}/guests`, {
    method: "POST",
    body: JSON.stringify({ vmid: (await vmOf(mute.id)).vmid, agentless: true }),
  });
  // Half a minute goes into the waiting for the agent that is not there.
  const asked = await reset(mute.id, { when: "now" });
  // A scan of the region may have found that out already.
  const refused = asked.error === undefined ? done(asked, "failed").then(({ error }) => error) : asked.error;

  const now = await reset(open.id, { when: "now" });
  await done(now);
  const second = now.data !== undefined && "password" in now.data ? now.data.password : null;
  expect(second).toMatch(/^[A-Za-z0-9]{20}$/);
  expect([await opens(open.id, open.password), await opens(open.id, second)]).toEqual([false, true]);

  await done(await power(open.id, "stop"));
  expect((await reset(open.id, { when: "now" })).error).toMatchObject({ code: "guest_agent_unavailable" });
  expect(await opens(open.id, second)).toBe(true);

  expect(await refused).toMatchObject({ code: "guest_agent_unavailable" });
  expect(await opens(mute.id, mute.password)).toBe(true);
  const later = await reset(mute.id, { when: "next_boot" });
  await done(later);
  const third = later.data !== undefined && "password" in later.data ? later.data.password : null;
  expect([await opens(mute.id, mute.password), await opens(mute.id, third)]).toEqual([true, false]);
  await done(await power(mute.id, "stop"));
  await done(await power(mute.id, "start"));
  expect([await opens(mute.id, mute.password), await opens(mute.id, third)]).toEqual([false, true]);
});

it("a key is parsed strictly, and is in the guest that was created with it", {
  timeout: 120_000,
}, async () => {
  const keys = (public_key: string) =>
    world.organisation.POST("/ssh-keys", { body: { name: `key ${Math.random()}`, public_key } });
  const [laptop, other] = [opensshLine(), opensshLine()];
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  for (const [refused, because] of [
    [pem, /private/i],
    [`ssh-dss ${Buffer.from("\0\0\0\x07ssh-dss").toString("base64")}`, /DSA/i],
    [`command="id" ${laptop}`, /option/i],
    [opensshLine(1024), /2,?048/],
    [`${laptop}\n${other}`, /line/i],
  ] as const) {
    const { error, response } = await keys(refused);
    expect(response.status).toBe(422);
    const [field] = (error as Schemas["Problem"] | undefined)?.errors ?? [];
    expect(field).toMatchObject({ pointer: "/public_key", message: expect.stringMatching(because) });
    // No part of what was sent is returned.
    expect(JSON.stringify(error)).not.toContain(refused.trim().slice(-12));
  }
  const { data: key } = await keys(`${laptop} somebody@laptop`);
  expect((await keys(laptop)).error).toMatchObject({ code: "duplicate_key" });
  const { id, password } = await newServer("keyed", { ssh_key_ids: [key?.id ?? ""] });
  expect(password ?? null).toBeNull();
  const vm = await vmOf(id);
  expect(vm.drive?.user).toContain(laptop);
  expect(vm.drive?.user).not.toMatch(/^password:/m);
  const { data: second } = await keys(other);
  await done(
    await world.organisation.POST("/servers/{server_id}/rebuild", {
      ...path(id),
      body: { image: "debian-12", confirm_name: "keyed", ssh_key_ids: [second?.id ?? ""] },
    }),
  );
  const rebuilt = await vmOf(id);
  expect(rebuilt.drive?.user).toContain(other);
  expect(rebuilt.drive?.user).not.toContain(laptop);
});

/** A new public key as ssh-keygen writes it: ed25519, or rsa of so many bits. */
function opensshLine(rsaBits?: number): string {
  const field = (bytes: Uint8Array) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const of = (value: string | undefined) => Buffer.from(value ?? "", "base64url");
  if (rsaBits === undefined) {
    const { x } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
    const blob = Buffer.concat([field(Buffer.from("ssh-ed25519")), field(of(x))]);
    return `ssh-ed25519 ${blob.toString("base64")}`;
  }
  const { e, n } = generateKeyPairSync("rsa", { modulusLength: rsaBits }).publicKey.export({ format: "jwk" });
  const positive = (bytes: Buffer) => ((bytes[0] ?? 0) >= 128 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
  const blob = Buffer.concat([field(Buffer.from("ssh-rsa")), field(positive(of(e))), field(positive(of(n)))]);
  return `ssh-rsa ${blob.toString("base64")}`;
}
