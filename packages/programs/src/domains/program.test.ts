import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PayloadOf } from "@kule/contract/schemas";
import { askNameServer } from "@kule/dns/ask-name-server";
import type { DnsProvider, RecordSetChange } from "@kule/dns/dns-provider";
import { powerDnsProvider } from "@kule/dns/powerdns";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import { knownStep } from "@kule/rules/jobs/region-texts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import { outcomeOfFailure } from "../outcome.ts";
import type { Job } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { quietHost, stepsDone } from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";
import type { DnsWorld } from "./dns-world.ts";
import { applyDomain } from "./program.ts";

type Zone = PayloadOf<"DomainApply">["zone"];
type RecordSet = Zone["record_sets"][number];

const apiKey = "key-of-the-tests";
let folder = "";
let lab: DnsLab;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-domains-"));
  lab = await startDnsLab({ dataDir: folder, apiKey });
});
afterEach(() => lab.faults.clear());
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
});

const www: RecordSet = { name: "www", type: "A", ttl: 300, values: ["192.0.2.1"] };
const mail: RecordSet = { name: "@", type: "MX", ttl: 3600, values: ["10 mail.example.net."] };

let zones = 0;
/** A zone that no other test has. */
const newName = () => `zone-${zones++}.test`;

function jobOf(
  name: string,
  recordSets: readonly RecordSet[],
  more: Partial<Zone> = {},
  payload: Partial<PayloadOf<"DomainApply">> = {},
): Job<PayloadOf<"DomainApply">> {
  const zone = {
    name,
    name_servers: ["k1.ns1.kule.test.", "k1.ns2.kule.test."],
    name_server_ttl: 3600,
    dnssec: false,
    record_sets: [...recordSets],
    ...more,
  };
  return {
    id: `job_${name}`,
    payload: { kind: "DomainApply", generation: 3, state: "present", zone, ...payload },
  };
}

/** The world with the lab's provider, whose changing calls are counted. */
function worldOf(of: DnsLab = lab) {
  const calls: Record<string, number> = {};
  const changes: (readonly RecordSetChange[])[] = [];
  const plain = powerDnsProvider({ url: of.url, apiKey, deadlineMilliseconds: 500 });
  const counted = <Name extends Exclude<keyof DnsProvider, "readZone">>(name: Name): DnsProvider[Name] =>
    ((...given: Parameters<DnsProvider[Name]>) => {
      calls[name] = (calls[name] ?? 0) + 1;
      if (name === "changeZone") changes.push(given[1] as readonly RecordSetChange[]);
      return (plain[name] as (...all: typeof given) => unknown)(...given);
    }) as DnsProvider[Name];
  const world: DnsWorld = {
    provider: {
      readZone: plain.readZone,
      createZone: counted("createZone"),
      changeZone: counted("changeZone"),
      deleteZone: counted("deleteZone"),
      enableDnssec: counted("enableDnssec"),
      disableDnssec: counted("disableDnssec"),
    },
    nameServers: [{ address: of.address, port: of.dnsPort }],
    runtime: virtualRuntime(),
  };
  const run = async (job: Job<PayloadOf<"DomainApply">>, changed: Partial<DnsWorld> = {}) => {
    const host = quietHost();
    const observed = await runProgram(applyDomain, job, { ...world, ...changed }, host);
    return { domain: observed.domain, steps: stepsDone(host.events) };
  };
  return { world, plain, calls, changes, run };
}

const ask = async (name: string, type: "A" | "MX" | "SOA") => {
  const answer = await askNameServer({ address: lab.address, port: lab.dnsPort }, { name, type });
  return answer.outcome === "answered" ? answer.answers.map(({ content }) => content) : answer.reason;
};

describe("a domain at the DNS provider", () => {
  test("is created with its records, which the name servers answer when the job has ended", async () => {
    const { run } = worldOf();
    const name = newName();
    const { steps, domain } = await run(jobOf(name, [www, mail]));
    expect(steps).toEqual(["create-zone", "change-records", "await-answers"]);
    expect(domain).toEqual({ generation: 3, serial: expect.any(Number), ds: [] });
    expect(await ask(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect((await ask(name, "SOA"))[0]).toContain(` ${domain?.serial} `);
  });

  test("is left alone when it is as wanted", async () => {
    const { run, calls } = worldOf();
    const job = jobOf(newName(), [www]);
    const first = await run(job);
    const before = { ...calls };
    expect(await run(job)).toEqual({ steps: [], domain: first.domain });
    expect(calls).toEqual(before);
  });

  test("gets all that differs in one change, which deletes what is not wanted", async () => {
    const { run, changes } = worldOf();
    const name = newName();
    await run(jobOf(name, [www, mail]));
    changes.length = 0;
    // The CNAME takes the place of the address.
    const alias: RecordSet = { name: "www", type: "CNAME", ttl: 300, values: ["web.example.net."] };
    const { steps } = await run(jobOf(name, [alias, { ...mail, ttl: 60 }]));
    expect(steps).toEqual(["change-records", "await-answers"]);
    expect(changes).toHaveLength(1);
    expect(changes[0]?.map((each) => each.change)).toEqual(["delete", "replace", "replace"]);
    expect(await ask(`www.${name}`, "A")).toEqual(["web.example.net."]);
  });

  test("is put right when somebody changed it by hand", async () => {
    const { run, plain } = worldOf();
    const name = newName();
    const job = jobOf(name, [www]);
    await run(job);
    const byHand = { name: `www.${name}.`, type: "A", ttlSeconds: 300, contents: ["203.0.113.66"] };
    await plain.changeZone(name, [
      { change: "replace", recordSet: byHand },
      { change: "replace", recordSet: { ...byHand, name: `new.${name}.` } },
    ]);
    expect((await run(job)).steps).toEqual(["change-records", "await-answers"]);
    expect(await ask(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await ask(`new.${name}`, "A")).toEqual([]);
    await plain.deleteZone(name);
    expect((await run(job)).steps).toContain("create-zone");
    expect(await ask(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
  });

  test("is signed, with the DS for its parent, and has its signature removed", async () => {
    const { run } = worldOf();
    const name = newName();
    const signed = await run(jobOf(name, [www], { dnssec: true }));
    expect(signed.steps).toEqual(["create-zone", "change-records", "sign", "await-answers"]);
    expect(signed.domain?.ds).toEqual([
      expect.stringMatching(/^\d+ 13 2 [0-9a-f]{64}$/),
      expect.stringMatching(/^\d+ 13 4 [0-9a-f]{96}$/),
    ]);
    expect((await run(jobOf(name, [www], { dnssec: true }))).domain).toEqual(signed.domain);
    const plain = await run(jobOf(name, [www]));
    expect(plain.steps).toEqual(["unsign", "await-answers"]);
    expect(plain.domain?.ds).toEqual([]);
  });

  test("is deleted, and that it is gone is success", async () => {
    const { run } = worldOf();
    const name = newName();
    await run(jobOf(name, [www]));
    const gone = jobOf(name, [], {}, { state: "gone", generation: 4 });
    const deleted = { generation: 4, serial: null, ds: [] };
    expect(await run(gone)).toEqual({ steps: ["delete-zone"], domain: deleted });
    expect(await run(gone)).toEqual({ steps: [], domain: deleted });
    expect(await ask(`www.${name}`, "A")).toEqual([]);
  });

  test("of 20,000 record sets is sent in as few calls as PowerDNS takes", { timeout: 120_000 }, async () => {
    const { run, calls } = worldOf();
    const many = Array.from({ length: 20_000 }, (_, n) => ({ ...www, name: `host-${n}` }));
    const { world } = worldOf();
    const patient = powerDnsProvider({ url: lab.url, apiKey });
    const changeZone: DnsProvider["changeZone"] = (...given) => {
      calls.changeZone = (calls.changeZone ?? 0) + 1;
      return patient.changeZone(...given);
    };
    const provider = { ...world.provider, readZone: patient.readZone, changeZone };
    await run(jobOf(newName(), many), { provider });
    expect(calls.changeZone).toBeLessThan(5);
    expect(calls.changeZone).toBeGreaterThan(1);
  });
});

describe("a job of a domain", () => {
  test("is tried again while the provider is away", async () => {
    const { run } = worldOf();
    const gone = powerDnsProvider({ url: "http://127.0.0.1:1", apiKey });
    const error = await run(jobOf(newName(), [www]), { provider: gone }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RetryLater);
    expect(outcomeOfFailure(error)).toMatchObject({
      status: "retry",
      error: { code: "dns_unavailable", step: "observe", internal: expect.stringContaining("GET /zones") },
    });
  });

  test.each(["error", "cut", "lost-reply", "hang"] as const)(
    "observes again when a change is answered by %s, and changes nothing twice",
    async (fault) => {
      const { run } = worldOf();
      const name = newName();
      lab.faults.add(fault, { method: "PATCH", path: /zone-/ });
      const { domain } = await run(jobOf(name, [www]));
      const { domain: undisturbed } = await run(jobOf(newName(), [www]));
      expect(domain?.serial).toBe(undisturbed?.serial);
      expect(await ask(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    },
  );

  test("fails when the provider refuses the records, with the provider's text for operators", async () => {
    const { run } = worldOf();
    const bad: RecordSet = { ...www, values: ["not an address"] };
    const error = await run(jobOf(newName(), [bad])).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Failed);
    expect(outcomeOfFailure(error)).toMatchObject({
      status: "failed",
      error: { code: "dns_refused", step: "change-records", internal: expect.stringContaining("422") },
    });
  });

  test("waits for its name servers, and is tried again when one stays silent", async () => {
    const { run, world } = worldOf();
    const silent = { address: "127.0.0.1", port: 1 };
    const nameServers = [...world.nameServers, silent];
    const job = jobOf(newName(), [www]);
    const error = await run(job, { nameServers }).catch((thrown: unknown) => thrown);
    expect(outcomeOfFailure(error)).toMatchObject({
      status: "retry",
      error: {
        code: "dns_unanswered",
        step: "await-answers",
        internal: expect.stringContaining("127.0.0.1"),
      },
    });
    // The records are there: only the answer is waited for.
    expect((await run(job)).steps).toEqual([]);
  });

  test("has only steps whose names its owner may read", () => {
    expect(Object.keys(applyDomain.apply).filter((name) => knownStep(name) === "other")).toEqual([]);
  });
});

describe("a crash at any point of a domain's job", { timeout: 240_000 }, () => {
  const cases =
    (job: (name: string) => Job<PayloadOf<"DomainApply">>, prepared = false) =>
    async () => {
      const { world, plain, calls, run } = worldOf();
      const name = newName();
      if (prepared) {
        await run(jobOf(name, [www, { ...www, name: "old" }], { dnssec: true }));
        for (const each of Object.keys(calls)) delete calls[each];
      }
      return {
        run: (at: (point: string) => void) =>
          runProgram(applyDomain, job(name), world, quietHost({ crashPoint: at })),
        state: async () => {
          const zone = await plain.readZone(name);
          const text = JSON.stringify({ ...zone, dnssec: zone?.dnssec?.ds.length ?? null });
          return JSON.parse(text.replaceAll(name, "the.zone"));
        },
        effects: async () => calls,
      };
    };

  test("of a new one leaves the zone that an undisturbed job makes", async () => {
    const points = await survivesACrashAnywhere(cases((name) => jobOf(name, [www, mail], { dnssec: true })));
    for (const step of ["create-zone", "change-records", "sign"])
      expect(points).toContain(`DomainApply.${step}.effect-done`);
  });

  test("of a change leaves the zone that an undisturbed job makes", async () => {
    const points = await survivesACrashAnywhere(cases((name) => jobOf(name, [www, mail]), true));
    for (const step of ["change-records", "unsign", "await-answers"])
      expect(points).toContain(`DomainApply.${step}.after-ack`);
  });

  test("of a deletion leaves no zone", async () => {
    const points = await survivesACrashAnywhere(
      cases((name) => jobOf(name, [], {}, { state: "gone" }), true),
    );
    expect(points).toContain("DomainApply.delete-zone.effect-done");
  });
});
