import { type FreshDatabase, freshDatabase } from "@kule/testing/database";
import type { Hono } from "hono";
import { createApp } from "../app.ts";
import { openDatabase } from "../platform/database.ts";
import { createLog } from "../platform/log.ts";
import { type OpenDeps, openDeps } from "../platform/open-deps.ts";
import { readSettings, type Settings } from "../platform/settings.ts";
import { issueToken } from "../products/tokens/index.ts";
import { ApiCaller } from "./api-caller.ts";
import { sharedReleases } from "./release-folders.ts";
import { sharedProviders } from "./soft-sign-ins.ts";

/** One API over a database: a replica, as it were. */
export type Replica = OpenDeps & { readonly app: Hono };

export type TestOrganisation = {
  readonly id: string;
  readonly slug: string;
  /** Calls with an organisation token of role owner. */
  readonly owner: ApiCaller;
};

/**
 * The API in this process over a database of its own, as a test build: every answer is checked against the
 * contract, every query for its organisation, every mutation for its audit row.
 */
export class ApiWorld {
  readonly database: FreshDatabase;
  readonly replica: Replica;
  readonly operator: ApiCaller;
  readonly #replicas: Replica[] = [];

  private constructor(database: FreshDatabase, replica: Replica, operatorToken: string) {
    this.database = database;
    this.replica = replica;
    this.#replicas.push(replica);
    this.operator = new ApiCaller(replica.app, operatorToken);
  }

  static async open(settings: Partial<Settings> = {}): Promise<ApiWorld> {
    return ApiWorld.over(await freshDatabase(), settings);
  }

  /** The same over a migrated database that the caller has created. */
  static async over(database: FreshDatabase, settings: Partial<Settings> = {}): Promise<ApiWorld> {
    const replica = await openReplica(database, settings);
    return new ApiWorld(database, replica, await firstOperatorToken(database.ownerUrl));
  }

  get app(): Hono {
    return this.replica.app;
  }

  /** Another API process' worth of state over the same database. */
  async addReplica(settings: Partial<Settings> = {}): Promise<Replica> {
    const replica = await openReplica(this.database, settings);
    this.#replicas.push(replica);
    return replica;
  }

  async addOrganisation(slug: string): Promise<TestOrganisation> {
    const created = await this.operator.post("/organisations", { slug, name: slug });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    const id = created.body.id as string;
    return { id, slug, owner: await this.addToken(id, "owner") };
  }

  /** A caller with a new organisation token. */
  async addToken(organisationId: string, role: string, scopes: readonly string[] = []): Promise<ApiCaller> {
    const token = {
      kind: "organisation" as const,
      name: `${role} token`,
      organisationId,
      role,
      scopes,
      lifetimeSeconds: 86_400,
    };
    return new ApiCaller(this.app, (await issueToken(this.replica.deps.db, token)).secret);
  }

  /** A region with room for `vmids` servers, and a caller with its agent token. */
  async addRegion(
    slug: string,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<{ slug: string; agent: ApiCaller }> {
    const created = await this.operator.post("/regions", {
      slug,
      name: slug,
      vmid_range: { first: 20_000, last: 20_999 },
      vlan_range: { first: 100, last: 399 },
      ...more,
    });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    const minted = await this.operator.post(`/regions/${slug}/agent-tokens`, { name: "agent" });
    if (minted.status !== 201) throw new Error(JSON.stringify(minted.body));
    return { slug, agent: new ApiCaller(this.app, minted.body.secret as string) };
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
    await this.database.drop();
  }
}

/** As the seed creates it: the API's role may not, and there is no operator yet. */
export async function firstOperatorToken(ownerUrl: string, scopes: readonly string[] = []): Promise<string> {
  const owner = openDatabase({ url: ownerUrl, poolSize: 1, guardTenants: false });
  const token = { kind: "operator", name: "test operator", scopes, lifetimeSeconds: 86_400 } as const;
  const { secret } = await issueToken(owner.db, token);
  await owner.close();
  return secret;
}

export async function openReplica(
  database: FreshDatabase,
  settings: Partial<Settings> = {},
): Promise<Replica> {
  const open = await openDeps(
    { ...testSettings(database.apiUrl), ...settings },
    createLog(settings.logLevel ?? "fatal"),
  );
  return { ...open, app: createApp(open.deps) };
}

const silentDns: NonNullable<Settings["dns"]> = {
  path: "dns.yaml",
  file: {
    nameServers: [{ pattern: "*.ns1.kule.example", addresses: ["127.0.0.1"], port: 9 }],
    resolving: { start: { kind: "roots", addresses: ["127.0.0.1"] }, port: 9, allowPrivate: true },
    reverseZones: [],
  },
};

const silentCa: NonNullable<Settings["acme"]> = {
  path: "acme.yaml",
  file: {
    directoryUrl: "https://127.0.0.1:9/dir",
    contactEmails: [],
    network: "any",
    rootsPem: null,
  },
};

/** Where browsers would find the panel. */
export const testPanelOrigin = "https://panel.kule.example";

/** All replicas of an installation have the same. */
export const testApiSecret = "a-secret-of-the-tests-which-is-long-enough";

export function testSettings(databaseUrl: string): Settings {
  return {
    ...readSettings({
      KULE_DATABASE_URL: databaseUrl,
      KULE_TEST_BUILD: "1",
      KULE_CONSOLE_ORIGINS: testPanelOrigin,
      KULE_API_SECRET: testApiSecret,
    }),
    oidcProviders: sharedProviders,
    // Domains can be added, and nobody is there who could be asked about them.
    dns: silentDns,
    // Managed certificates can be asked for, and no CA is there that issues them.
    acme: silentCa,
    // Only the worker reads it: the mails of these worlds wait in the queue.
    mailFile: "mail.yaml",
    agentReleases: sharedReleases(),
    poolSize: 10,
    rateLimitPerHour: 100_000_000,
    rateLimitBurst: 1_000_000,
    organisationLimitPerHour: 100_000_000,
    organisationLimitBurst: 1_000_000,
    createLimitPerHour: 100_000_000,
    createLimitBurst: 1_000_000,
  };
}
