import { argon2Sync, randomBytes } from "node:crypto";
import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { TestScanner } from "@kule/api/testing/test-scanner";
import type { Schemas } from "@kule/contract/schemas";
import { freshDatabase, type SeededTemplate, seededTemplate } from "@kule/testing/database";
import { keepRows } from "@kule/testing/kept-rows";
import pg from "pg";
import { type Callers, done } from "../scene-api.ts";
import type { Scene } from "./scene.ts";

/** Who can sign in: an admin, a member and a viewer of Acme Hosting, and an operator. */
const accounts = {
  ada: { email: "ada@example.org", password: "correct horse", name: "Ada Lovelace", role: "admin" },
  mia: { email: "mia@example.org", password: "making things", name: "Mia Member", role: "member" },
  vera: { email: "vera@example.org", password: "only looking", name: "Vera Viewer", role: "viewer" },
  grace: { email: "grace@example.org", password: "keeps it running", name: "Grace Operator", role: null },
} as const;

export type Who = keyof typeof accounts;

export type Person = {
  readonly id: string;
  /** Null for the operator. */
  readonly memberId: string | null;
  readonly email: string;
  readonly password: string;
  readonly name: string;
  /** A session that is open already. */
  readonly session: Schemas["Session"];
  readonly me: Schemas["Me"];
};

export type People = Callers & {
  readonly people: { readonly [who in Who]: Person };
  /** The pool of public addresses; those of Acme are {@link acmesAddresses}. */
  readonly poolId: string;
};

/** The public addresses that Acme Hosting can reserve. */
export const acmesAddresses = [10, 11, 12, 20, 30].map((last) => `203.0.113.${last}`);

const gib = 2 ** 30;

/**
 * Acme Hosting and its people; region ist1 with capacity, images, an edge and public addresses, and region ank1, whose
 * agent has never reported.
 */
export const people: Scene<People> = {
  name: "people",
  template() {
    template ??= seededTemplate("people", seed);
    return template;
  },
};
let template: Promise<SeededTemplate<People>> | undefined;

async function seed() {
  const database = await freshDatabase();
  const world = await ApiWorld.over(database);
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  try {
    const acme = { slug: "acme", name: "Acme Hosting" };
    const { id } = await done(world.operator.post("/organisations", acme));
    const acmes = await world.addToken(id, "owner");
    // A number is a row, and every test begins with all rows put back: as few as suffice.
    const few = { vmid_range: { first: 20_000, last: 20_099 }, vlan_range: { first: 100, last: 129 } };
    const ist1 = await world.addRegion("ist1", { name: "Istanbul 1", country: "TR", ...few });
    await world.addRegion("ank1", { name: "Ankara 1", country: "TR", ...few });
    await report(ist1.agent);
    const poolId = await addAddresses(world.operator, id);
    const facts: People = {
      operatorToken: world.operator.token ?? "",
      acme: { id, ...acme, token: acmes.token ?? "" },
      agentToken: ist1.agent.token ?? "",
      people: await addPeople(acmes, owner),
      poolId,
    };
    await owner.end();
    await world.replica.close();
    await keepRows(database.ownerUrl);
    return { database, facts };
  } catch (error) {
    await owner.end();
    await world.close();
    throw error;
  }
}

/** A report and a scan of an agent whose region has three nodes, of which one is offline and one in maintenance. */
async function report(agent: ApiCaller): Promise<void> {
  const names = ["pve1", "pve2", "pve3"];
  const images = ["ubuntu-24.04", "debian-13", "rocky-9", "windows-2025"];
  await done(
    agent.post("/agent/health", {
      agent_version: "0.1.0",
      agent_name: "ist1-a",
      hypervisor: {
        ...{ kind: "proxmox", reachable: true, version: "9.1.4" },
        nodes: names.map((name) => ({ name, online: name !== "pve3" })),
      },
      templates: images.map((image) => ({ image, ok: true })),
      edge: { reachable: true },
      // Secrets of Windows guests are sealed to it; no test opens them.
      public_key: randomBytes(32).toString("base64"),
    }),
  );
  await new TestScanner(agent).look([], {
    nodes: names.map((name) => ({
      ...{ name, online: name !== "pve3", maintenance: name === "pve2", cpus: 64 },
      ...{ memory_bytes: 512 * gib, memory_used_bytes: 128 * gib, others_memory_bytes: 0, others_vcpu: 0 },
    })),
    storages: [{ name: "ceph-vm", node: null, total_bytes: 65_536 * gib, used_bytes: 12_000 * gib }],
    images: images.map((image) => ({ image, nodes: names })),
  });
}

async function addAddresses(operator: ApiCaller, organisation: string): Promise<string> {
  const pool = { region: "ist1", name: "public", gateway: "203.0.113.1", prefix_length: 24 };
  const { id } = await done(operator.post("/ip-pools", pool));
  await done(operator.post(`/ip-pools/${id}/ranges`, { cidr: "203.0.113.0/26" }));
  const allocation = { organisation_id: organisation, addresses: acmesAddresses };
  await done(operator.post(`/ip-pools/${id}/allocations`, allocation));
  return id;
}

async function addPeople(acmes: ApiCaller, owner: pg.Client): Promise<People["people"]> {
  const found: { [who: string]: Person } = {};
  const nobody = new ApiCaller(acmes.app, null);
  for (const [who, { email, password, name, role }] of Object.entries(accounts)) {
    let [id, memberId]: [string, string | null] = ["usr_0grace0operator0operator0", null];
    if (role === null)
      await owner.query("insert into app_user (id, email, name, is_operator) values ($1, $2, $3, true)", [
        ...[id, email, name],
      ]);
    else {
      const { member } = await addMember(acmes, { email, password, name, role });
      [id, memberId] = [member.user.id, member.id];
    }
    await owner.query("update app_user set password_hash = $2 where id = $1", [id, cheapHash(password)]);
    const session = await done(nobody.post("/auth/login", { email, password }));
    const me = await done(new ApiCaller(acmes.app, session.token).get("/me"));
    found[who] = { id, memberId, email, password, name, session, me };
  }
  return found as People["people"];
}

/** Costs microseconds where the API's own hashes cost 27 ms: every test signs in, and a hash names its own cost. */
function cheapHash(message: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync("argon2id", { message, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  const unpadded = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=8,t=1,p=1$${unpadded(nonce)}$${unpadded(tag)}`;
}
