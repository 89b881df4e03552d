import { findFreePort } from "@kule/postgres/free-port";
import { type Answer, decode } from "dns-packet";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { checkZone } from "./check-zone.ts";
import { powerDnsProvider } from "./powerdns.ts";
import { findDelegation, type ResolveSettings, readAddresses, readTxt } from "./resolve.ts";
import { API_KEY, type RunningDns, startStandIn } from "./testing/dns-servers.ts";
import {
  often,
  replyTo,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from "./testing/scripted-server.ts";

const PARENT = "127.0.0.2";
const KID = "127.0.0.3";
const OTHER = "127.0.0.4";
const KID_LATE = "127.0.0.5";
const SILENT = "127.0.0.9";
const mayAsk = (): boolean => true;

describe("names in a tree of name servers", () => {
  const running: RunningDns[] = [];
  let port: number;
  let roots: ResolveSettings;

  type Sets = Readonly<Record<string, readonly string[]>>;
  /** A server with a zone; `sets` by "name TYPE". */
  async function serve(address: string, zone: string, sets: Sets): Promise<void> {
    const dns = await startStandIn({ address, dnsPort: port });
    running.push(dns);
    const provider = powerDnsProvider({ url: dns.url, apiKey: API_KEY });
    await provider.createZone(zone, [`ns1.${zone}`]);
    await provider.changeZone(
      zone,
      Object.entries(sets).map(([key, contents]) => {
        const [name = "", type = ""] = key.split(" ");
        return { change: "replace", recordSet: { name, type, ttlSeconds: 60, contents } };
      }),
    );
  }

  beforeAll(async () => {
    port = await findFreePort();
    roots = {
      start: { kind: "roots", addresses: [PARENT] },
      port,
      mayAsk,
      questionMilliseconds: 10_000,
      deadlineMilliseconds: 40_000,
    };
    await serve(PARENT, "test", {
      "ns1.test. A": [PARENT],
      "kid.test. NS": ["ns1.kid.test.", "ns.other.test."],
      "ns1.kid.test. A": [KID],
      "other.test. NS": ["ns1.other.test."],
      "ns1.other.test. A": [OTHER],
      "lame.test. NS": ["ns1.other.test."],
      "half.test. NS": ["a.half.test.", "b.half.test."],
      "a.half.test. A": [SILENT],
      "b.half.test. A": [KID],
      "left.test. NS": ["ns.right.test."],
      "right.test. NS": ["ns.left.test."],
      "void.test. NS": ["ns.nowhere.test."],
    });
    await serve(KID, "kid.test", {
      "_kule.kid.test. TXT": ['"token-new"', '"split " "in two"'],
      "alias.kid.test. CNAME": ["one.kid.test."],
      "one.kid.test. CNAME": ["_token.other.test."],
      "round.kid.test. CNAME": ["round.other.test."],
      "www.kid.test. A": ["192.0.2.7"],
      "www.kid.test. AAAA": ["2001:db8::7"],
      "shop.kid.test. CNAME": ["front.other.test."],
    });
    await serve(OTHER, "other.test", {
      "ns.other.test. A": [KID_LATE],
      "_token.other.test. TXT": ['"token-behind-aliases"'],
      "round.other.test. CNAME": ["round.kid.test."],
      "front.other.test. A": ["192.0.2.8", "192.0.2.9"],
    });
    // The copy of a second server, which has not the newest records.
    await serve(KID_LATE, "kid.test", {
      "_kule.kid.test. TXT": ['"token-old"'],
      "www.kid.test. A": ["192.0.2.6"],
    });
  });
  afterAll(async () => {
    await Promise.all(running.map((each) => each.close()));
  });

  test("the delegation of a zone is what its parent says, with the addresses it gives", async () => {
    expect(await findDelegation("Kid.Test", roots)).toEqual({
      outcome: "delegated",
      parentZone: ".",
      saidBy: "parent",
      nameServers: [
        { name: "ns.other.test.", addresses: [] },
        { name: "ns1.kid.test.", addresses: [KID] },
      ],
      ds: [],
    });
  });

  test("a name that nobody delegated is told as that", async () => {
    expect(await findDelegation("nobody.test", roots)).toMatchObject({
      outcome: "not-delegated",
      code: "NXDOMAIN",
    });
    expect(await findDelegation("ns1.test", roots)).toMatchObject({
      outcome: "not-delegated",
      code: "NODATA",
    });
    expect(await findDelegation("deep.kid.test", roots)).toMatchObject({
      outcome: "not-delegated",
      parentZone: "kid.test.",
    });
  });

  test("a record that only one of the zone's servers has is found", async () => {
    const answer = await readTxt("_kule.kid.test", roots);
    expect(answer).toMatchObject({ outcome: "answered", zone: "kid.test." });
    expect(answer.outcome === "answered" && answer.values.toSorted()).toEqual([
      "split in two",
      "token-new",
      "token-old",
    ]);
    expect(answer.outcome === "answered" && answer.servers).toEqual([
      { name: "ns1.kid.test.", address: KID, answered: true },
      { name: "ns.other.test.", address: KID_LATE, answered: true },
    ]);
  });

  test("an alias is not followed where that would be a proof of somebody else's", async () => {
    expect(await readTxt("alias.kid.test", roots, { aliases: "refuse" })).toEqual({
      outcome: "alias",
      zone: "kid.test.",
      target: expect.stringMatching(/^(one\.kid|_token\.other)\.test\.$/),
    });
    expect(await readTxt("_token.other.test", roots, { aliases: "refuse" })).toMatchObject({
      outcome: "answered",
      values: ["token-behind-aliases"],
    });
  });

  test("aliases are followed into other zones, and those that go round are given up", async () => {
    expect(await readTxt("alias.kid.test", roots)).toMatchObject({
      outcome: "answered",
      zone: "other.test.",
      values: ["token-behind-aliases"],
    });
    expect(await readTxt("round.kid.test", roots)).toMatchObject({ reason: "too-many-aliases" });
  });

  test("a name without TXT is answered with none, which differs from no answer", async () => {
    expect(await readTxt("nothing.kid.test", roots)).toMatchObject({ outcome: "answered", values: [] });
  });

  test("a name leads to all addresses that any of the zone's servers has", async () => {
    const answer = await readAddresses("WWW.Kid.Test", roots);
    expect(answer).toMatchObject({ outcome: "answered", ipv6: ["2001:db8::7"] });
    expect(answer.outcome === "answered" && answer.ipv4.toSorted()).toEqual(["192.0.2.6", "192.0.2.7"]);
    expect(await readAddresses("nobody.test", roots)).toEqual({ outcome: "answered", ipv4: [], ipv6: [] });
    expect(await readAddresses("a.lame.test", roots)).toMatchObject({ reason: "lame" });
  });

  test("an alias leads to the addresses of another zone's name, and one that goes round to none", async () => {
    const answer = await readAddresses("shop.kid.test", roots);
    expect(answer.outcome === "answered" && answer.ipv4.toSorted()).toEqual(["192.0.2.8", "192.0.2.9"]);
    // Each name is asked once: behind a round there is nothing.
    expect(await readAddresses("round.kid.test", roots)).toMatchObject({ outcome: "answered", ipv4: [] });
  });

  test("servers that do not know the zone, are silent or have no address are told apart", async () => {
    expect(await readTxt("a.lame.test", roots)).toMatchObject({ reason: "lame", zone: "lame.test." });
    expect(await readTxt("a.void.test", roots)).toMatchObject({ reason: "no-answer", zone: "void.test." });
    // One is silent, the other does not know the zone.
    expect(await readTxt("a.half.test", roots)).toMatchObject({ reason: "lame", zone: "half.test." });
  });

  test("zones whose servers are named in each other end without an answer", async () => {
    expect(await readTxt("a.left.test", roots)).toMatchObject({ outcome: "unresolved" });
    expect(await findDelegation("left.test", roots)).toMatchObject({
      outcome: "delegated",
      nameServers: [{ name: "ns.right.test.", addresses: [] }],
    });
  });

  test("an address that is not of the Internet is not asked when a delegation names it", async () => {
    const { mayAsk: _any, ...internetOnly } = roots;
    expect(await readTxt("_kule.kid.test", internetOnly)).toMatchObject({
      outcome: "unresolved",
      reason: "no-answer",
      zone: "kid.test.",
    });
  });

  test("a check tells which name servers the parent lacks and which nobody wants", async () => {
    const check = await checkZone(
      "kid.test",
      [
        { name: "ns1.kid.test", addresses: [KID] },
        { name: "ns9.kule.test", addresses: [OTHER] },
      ],
      roots,
    );
    expect({ missing: check.missing, foreign: check.foreign }).toEqual({
      missing: ["ns9.kule.test."],
      foreign: ["ns.other.test."],
    });
    expect(check.nameServers.map(({ addresses }) => addresses[0])).toMatchObject([
      { answers: true, authoritative: true },
      { answers: true, authoritative: false, code: "REFUSED" },
    ]);
    const none = await checkZone("nobody.test", [{ name: "ns1.kule.test", addresses: [] }], roots);
    expect(none).toMatchObject({ missing: ["ns1.kule.test."], foreign: [] });
  });

  test("with a resolver the parent's own servers are asked all the same", async () => {
    const known: Record<string, Answer[]> = {
      "test NS": [{ name: "test", type: "NS", ttl: 60, data: "ns1.test" }],
      "kid.test NS": [{ name: "kid.test", type: "NS", ttl: 60, data: "ns1.kid.test" }],
      "ns1.test A": [{ name: "ns1.test", type: "A", ttl: 60, data: PARENT }],
      "ns1.kid.test A": [{ name: "ns1.kid.test", type: "A", ttl: 60, data: KID }],
    };
    const resolver = await startScriptedServer(
      (query) => {
        const [question] = decode(query).questions ?? [];
        return [
          replyTo(query, { flags: 0x180, answers: known[`${question?.name} ${question?.type}`] ?? [] }),
        ];
      },
      { address: "127.0.0.6", port },
    );
    try {
      const settings: ResolveSettings = {
        ...roots,
        start: { kind: "resolvers", addresses: [resolver.address] },
      };
      expect(await findDelegation("kid.test", settings)).toMatchObject({
        outcome: "delegated",
        parentZone: "test.",
        saidBy: "parent",
        nameServers: [{ name: "ns.other.test." }, { name: "ns1.kid.test.", addresses: [KID] }],
      });
      expect(await readTxt("_kule.kid.test", settings)).toMatchObject({
        zone: "kid.test.",
        values: ["token-new", "split in two"],
      });
      const silent: ResolveSettings = { ...roots, start: { kind: "resolvers", addresses: [SILENT] } };
      expect(await readTxt("_kule.kid.test", silent)).toMatchObject({ reason: "no-answer" });
    } finally {
      await resolver.close();
    }
  });
});

describe("a hostile tree", () => {
  const open: ScriptedServer[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });

  async function start(script: Script): Promise<{ server: ScriptedServer; settings: ResolveSettings }> {
    const server = await startScriptedServer(script);
    open.push(server);
    return {
      server,
      settings: {
        start: { kind: "roots", addresses: [server.address] },
        port: server.port,
        mayAsk,
        questionMilliseconds: 10_000,
        deadlineMilliseconds: 40_000,
      },
    };
  }
  const ns = (name: string, data: string): Answer => ({ name, type: "NS", ttl: 60, data });
  const a = (name: string, data = "127.0.0.1"): Answer => ({ name, type: "A", ttl: 60, data });

  test("that leads upwards, sideways or to where it is ends as lame", async () => {
    for (const cut of [".", "other", "example.org"]) {
      const { settings } = await start((query) => [
        replyTo(query, { flags: 0, authorities: [ns(cut, "ns.x")], additionals: [a("ns.x")] }),
      ]);
      expect(await readTxt("www.example.com", settings)).toEqual({
        outcome: "unresolved",
        reason: "lame",
        zone: ".",
      });
    }
  });

  test("that leads a step deeper each time ends at the name", async () => {
    let depth = 0;
    const { server, settings } = await start((query) => {
      const labels = (decode(query).questions?.[0]?.name ?? "").split(".");
      depth += 1;
      const cut = labels.slice(-depth).join(".");
      return [replyTo(query, { flags: 0, authorities: [ns(cut, "ns.x")], additionals: [a("ns.x")] })];
    });
    expect(await readTxt(`${"a.".repeat(100)}com`, settings)).toMatchObject({ outcome: "unresolved" });
    expect(server.questions()).toBeLessThan(250);
  });

  test("that names hundreds of servers without addresses is given up after a bounded number of questions", async () => {
    const { server, settings } = await start((query) => {
      const name = decode(query).questions?.[0]?.name ?? "";
      const cut = name.split(".").slice(-1).join(".");
      const many = Array.from({ length: 200 }, (_, index) => ns(cut, `ns${index}.zone${index}.tld${index}`));
      return [replyTo(query, { flags: 0, authorities: many.slice(0, 25) })];
    });
    expect(await readTxt("www.example.com", settings)).toMatchObject({ outcome: "unresolved" });
    expect(server.questions()).toBeLessThanOrEqual(200);
  });

  test("an endless chain of aliases is given up", async () => {
    const { server, settings } = await start((query) => {
      const name = decode(query).questions?.[0]?.name ?? "";
      return [
        replyTo(query, { answers: [{ name, type: "CNAME", ttl: 60, data: `a.${name}`.slice(0, 60) }] }),
      ];
    });
    expect(await readTxt("www.example.com", settings)).toMatchObject({ reason: "too-many-aliases" });
    expect(server.questions()).toBeLessThan(20);
    expect(await readAddresses("www.example.com", settings)).toMatchObject({ reason: "too-many-aliases" });
    expect(server.questions()).toBeLessThan(40);
  });

  test("an alias to a name that cannot be asked is given up", async () => {
    const { settings } = await start((query) => {
      const name = decode(query).questions?.[0]?.name ?? "";
      return often(replyTo(query, { answers: [{ name, type: "CNAME", ttl: 60, data: "a b.com" }] }));
    });
    expect((await readTxt("www.example.com", settings)).outcome).toBe("unresolved");
  });

  test("records of other names, and of zones that the server does not speak for, are left out", async () => {
    const { settings } = await start((query) => [
      replyTo(query, {
        answers: [
          { name: "victim.org", type: "TXT", ttl: 60, data: "token" },
          { name: "www.example.com", type: "TXT", ttl: 60, data: "mine" },
        ],
      }),
    ]);
    expect(await readTxt("www.example.com", settings)).toMatchObject({ values: ["mine"] });
  });

  test("1,000 TXT records are cut to 100 values", async () => {
    const many: Answer[] = Array.from({ length: 1_000 }, (_, index) => ({
      name: "www.example.com",
      type: "TXT",
      ttl: 60,
      data: `value ${index}`,
    }));
    const { settings } = await start((query, overTcp) => [
      overTcp ? replyTo(query, { answers: many }) : replyTo(query, { flags: 0x600 }),
    ]);
    const answer = await readTxt("www.example.com", settings);
    expect(answer.outcome === "answered" && answer.values.length).toBe(100);
  });

  test("servers that never answer take no longer than the deadline", async () => {
    const { settings } = await start(() => []);
    const before = performance.now();
    const slow = { ...settings, questionMilliseconds: 60_000, deadlineMilliseconds: 500 };
    expect(await readTxt("www.example.com", slow)).toMatchObject({
      outcome: "unresolved",
      reason: "timeout",
    });
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  test("addresses that a zone gives for servers of others are not used", async () => {
    const port = await findFreePort();
    const asked: string[] = [];
    const script =
      (reply: (name: string, type: string, query: Buffer) => Buffer): Script =>
      (query) => {
        const [question] = decode(query).questions ?? [];
        asked.push(`${question?.name} ${question?.type}`);
        return [reply(question?.name ?? "", question?.type ?? "", query)];
      };
    const root = await startScriptedServer(
      script((name, _type, query) =>
        name === "ns.victim.org"
          ? replyTo(query, { answers: [a(name, "127.0.0.12")] })
          : replyTo(query, {
              flags: 0,
              authorities: [ns("com", "ns.com")],
              additionals: [a("ns.com", "127.0.0.11")],
            }),
      ),
      { address: "127.0.0.10", port },
    );
    const com = await startScriptedServer(
      script((_name, _type, query) =>
        replyTo(query, {
          flags: 0,
          authorities: [ns("example.com", "ns.victim.org")],
          additionals: [a("ns.victim.org", "127.0.0.66")],
        }),
      ),
      { address: "127.0.0.11", port },
    );
    const victim = await startScriptedServer(
      script((name, _type, query) =>
        replyTo(query, { answers: [{ name, type: "TXT", ttl: 60, data: "true" }] }),
      ),
      { address: "127.0.0.12", port },
    );
    open.push(root, com, victim);
    const settings: ResolveSettings = {
      start: { kind: "roots", addresses: ["127.0.0.10"] },
      port,
      mayAsk,
      questionMilliseconds: 10_000,
      deadlineMilliseconds: 40_000,
    };
    expect(await readTxt("www.example.com", settings)).toMatchObject({
      zone: "example.com.",
      values: ["true"],
    });
    expect(asked).toContain("ns.victim.org A");
  });

  test("names that cannot be asked are told as that", async () => {
    const { server, settings } = await start((query) => [replyTo(query, {})]);
    for (const name of ["a..b", ".", `${"a".repeat(64)}.com`])
      expect(await findDelegation(name, settings)).toMatchObject({ reason: "bad-name" });
    expect(await readTxt("a..b", settings)).toMatchObject({ reason: "bad-name" });
    expect(server.questions()).toBe(0);
  });
});
