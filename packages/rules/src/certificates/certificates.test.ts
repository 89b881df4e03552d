import { describe, expect, test } from "vitest";
import { maxNames, nameCovers, readManagedNames } from "./domain-names.ts";
import { daysLeft, dueWarning, type WarningDay } from "./expiry.ts";
import { listenerCertificateProblems, type UsableCertificate } from "./listener-certificates.ts";
import { isRenewalDue, lastRetryMs, renewalTime, retryDelayMs } from "./renewal.ts";
import { type CertificateFacts, type CertificateStatus, canFollow, certificateStatus } from "./status.ts";

const day = 86_400_000;

describe("the names of a managed certificate", () => {
  const isPublicSuffix = (name: string) => ["co.uk", "com.tr"].includes(name);
  const read = (texts: readonly string[], challenge: "dns" | "http" = "dns") => {
    const reading = readManagedNames(texts, challenge, isPublicSuffix);
    return reading.ok ? reading.names : reading.problems.map(({ field, rule }) => `${field} ${rule}`);
  };
  test("are canonical and keep their order", () => {
    expect(read(["WWW.Example.com.", "example.com", "*.Example.com", "münchen.example"])).toEqual([
      "www.example.com",
      "example.com",
      "*.example.com",
      "xn--mnchen-3ya.example",
    ]);
  });
  test.each<[string[], string[]]>([
    [[], ["/domain_names no_names"]],
    [["a.example", "A.example."], ["/domain_names/1 name_twice"]],
    [["a.*.example"], ["/domain_names/0 wildcard_place"]],
    [["*a.example"], ["/domain_names/0 wildcard_place"]],
    [["*.*.example.com"], ["/domain_names/0 wildcard_place"]],
    [["*.co.uk"], ["/domain_names/0 public_suffix"]],
    [["com.tr"], ["/domain_names/0 public_suffix"]],
    [["*.com"], ["/domain_names/0 name"]],
    [["localhost"], ["/domain_names/0 name"]],
    [["192.0.2.1"], ["/domain_names/0 name"]],
    [["_acme.example.com"], ["/domain_names/0 name"]],
    [["a.example\nb.example"], ["/domain_names/0 name"]],
  ])("%j: %j", (texts, expected) => {
    expect(read(texts)).toEqual(expected);
  });
  test("have a wildcard only when the DNS proves them", () => {
    expect(read(["*.example.com"], "http")).toEqual(["/domain_names/0 wildcard_needs_dns"]);
  });
  test("are at most a hundred", () => {
    const many = Array.from({ length: maxNames + 1 }, (_, index) => `n${index}.example.com`);
    expect(read(many)).toEqual(["/domain_names too_many_names"]);
    expect(read(many.slice(1))).toHaveLength(maxNames);
  });
  test("cover a host, a star exactly one part of it", () => {
    expect(nameCovers("*.example.com", "a.example.com")).toBe(true);
    expect(nameCovers("*.example.com", "example.com")).toBe(false);
    expect(nameCovers("*.example.com", "a.b.example.com")).toBe(false);
    expect(nameCovers("example.com", "example.com")).toBe(true);
  });
});

describe("a certificate that ends", () => {
  test("warns at 30, 14, 7 and 1 days, each once", () => {
    const told: WarningDay[] = [];
    for (let hours = 40 * 24; hours > -48; hours -= 1) {
      const due = dueWarning(hours * 3_600_000, 0, told.at(-1) ?? null);
      if (due !== null) told.push(due);
    }
    expect(told).toEqual([30, 14, 7, 1]);
  });
  test("warns only of what is near when nobody has looked for long", () => {
    expect(dueWarning(3 * day, 0, null)).toBe(7);
    expect(dueWarning(3 * day, 0, 7)).toBe(null);
    expect(dueWarning(0, 0, null)).toBe(null);
    expect(dueWarning(31 * day, 0, null)).toBe(null);
  });
  test("has whole days left", () => {
    expect(daysLeft(day, 0)).toBe(1);
    expect(daysLeft(day, 1)).toBe(0);
    expect(daysLeft(0, 1)).toBe(-1);
  });
});

describe("a renewal", () => {
  const lifetime = { notBeforeMs: 0, notAfterMs: 90 * day };
  test("is due when a third of the lifetime is left", () => {
    expect(renewalTime(lifetime, null, 0.5)).toBe(60 * day);
    expect(isRenewalDue(lifetime, null, 0, 60 * day)).toBe(true);
    expect(isRenewalDue(lifetime, null, 0, 60 * day - 1)).toBe(false);
  });
  test("is due in the CA's window, spread over it", () => {
    const window = { startMs: 50 * day, endMs: 54 * day };
    expect([0, 0.5, 1, 7].map((share) => renewalTime(lifetime, window, share) / day)).toEqual([
      50, 52, 54, 54,
    ]);
    expect(isRenewalDue(lifetime, { startMs: 1, endMs: 2 }, 0.5, 3 * day)).toBe(true);
  });
  test("does not wait for a window after the end, nor believe one that is none", () => {
    expect(renewalTime(lifetime, { startMs: 100 * day, endMs: 101 * day }, 0)).toBe(89 * day);
    for (const window of [
      { startMs: 5, endMs: 5 },
      { startMs: Number.NaN, endMs: 5 },
    ])
      expect(renewalTime(lifetime, window, 0)).toBe(60 * day);
  });
  test("that fails is tried again later each time, and not before the CA wants", () => {
    expect([1, 2, 3, 10, 11, 1_000].map((attempts) => retryDelayMs(attempts, null))).toEqual([
      60_000,
      120_000,
      240_000,
      30_720_000,
      lastRetryMs,
      lastRetryMs,
    ]);
    expect(retryDelayMs(1, 3_600_000)).toBe(3_600_000);
    expect(retryDelayMs(5, 1)).toBe(960_000);
    expect(retryDelayMs(1, 1e15)).toBe(7 * day);
    expect(retryDelayMs(1, Number.NaN)).toBe(60_000);
  });
});

describe("a certificate's status", () => {
  const managed: CertificateFacts = {
    type: "managed",
    notAfterMs: null,
    isKeyOpenable: true,
    isOrdering: false,
    failedAttempts: 0,
  };
  test.each<[CertificateStatus, Partial<CertificateFacts>]>([
    ["pending", {}],
    ["issuing", { isOrdering: true, failedAttempts: 2 }],
    ["failed", { failedAttempts: 1 }],
    ["active", { notAfterMs: 10 }],
    ["active", { notAfterMs: 10, failedAttempts: 3 }],
    ["renewing", { notAfterMs: 10, isOrdering: true }],
    ["expired", { notAfterMs: 5 }],
    ["expired", { notAfterMs: 5, isOrdering: true }],
    ["pending", { notAfterMs: 10, isKeyOpenable: false }],
    ["needs_material", { type: "uploaded" }],
    ["active", { type: "uploaded", notAfterMs: 10 }],
    ["needs_material", { type: "uploaded", notAfterMs: 10, isKeyOpenable: false }],
    ["expired", { type: "uploaded", notAfterMs: 5 }],
  ])("is %s: %j", (status, more) => {
    expect(certificateStatus({ ...managed, ...more }, 5)).toBe(status);
  });

  test("changes only as the list of transitions says, and each of them happens", () => {
    const events: ((facts: CertificateFacts) => CertificateFacts)[] = [
      (facts) => (facts.type === "managed" ? { ...facts, isOrdering: true } : facts),
      (facts) =>
        facts.isOrdering
          ? { ...facts, isOrdering: false, notAfterMs: 10, isKeyOpenable: true, failedAttempts: 0 }
          : facts,
      (facts) => (facts.type === "managed" ? { ...facts, isOrdering: false, failedAttempts: 1 } : facts),
      (facts) => (facts.isOrdering ? { ...facts, isOrdering: false } : facts),
      (facts) => (facts.notAfterMs === null ? facts : { ...facts, isKeyOpenable: false }),
      (facts) => (facts.notAfterMs === null ? facts : { ...facts, notAfterMs: 5 }),
      (facts) => (facts.type === "uploaded" ? { ...facts, notAfterMs: 10, isKeyOpenable: true } : facts),
    ];
    const observed = new Set<string>();
    const seen = new Set<string>();
    const waiting: CertificateFacts[] = [managed, { ...managed, type: "uploaded" }];
    for (let facts = waiting.pop(); facts !== undefined; facts = waiting.pop()) {
      const key = JSON.stringify(facts);
      if (seen.has(key)) continue;
      seen.add(key);
      for (const event of events) {
        const next = event(facts);
        observed.add(`${certificateStatus(facts, 5)} ${certificateStatus(next, 5)}`);
        waiting.push(next);
      }
    }
    const all: CertificateStatus[] = [
      "pending",
      "issuing",
      "active",
      "renewing",
      "failed",
      "expired",
      "needs_material",
    ];
    const allowed = all.flatMap((from) =>
      all.filter((to) => from !== to && canFollow(from, to)).map((to) => `${from} ${to}`),
    );
    const changes = [...observed].filter((pair) => new Set(pair.split(" ")).size === 2);
    expect(changes.toSorted()).toEqual(allowed.toSorted());
  });
});

describe("the certificates of a listener", () => {
  const place = { organisationId: "org_a", region: "ist" };
  const certificate = (id: string, more: Partial<UsableCertificate> = {}): UsableCertificate => ({
    id,
    organisationId: "org_a",
    region: "ist",
    status: "active",
    domainNames: [`${id.slice(5)}.example`],
    ...more,
  });
  const problems = (found: UsableCertificate[], keeps: string[] = []) =>
    listenerCertificateProblems(
      found.map(({ id }) => id),
      found,
      place,
      new Set(keeps),
    ).map(({ field, rule }) => `${field} ${rule}`);

  test("are of its organisation and region, and can be used", () => {
    expect(problems([certificate("cert_a"), certificate("cert_b", { status: "renewing" })])).toEqual([]);
    expect(problems([certificate("cert_a", { region: "ank" })])).toEqual([
      "/certificate_ids/0 certificate_elsewhere",
    ]);
    for (const status of ["pending", "issuing", "failed", "expired", "needs_material"] as const)
      expect(problems([certificate("cert_a", { status })])).toEqual([
        "/certificate_ids/0 certificate_not_active",
      ]);
  });
  test("of another organisation read as absent ones", () => {
    const foreign = certificate("cert_a", { organisationId: "org_b" });
    const absent = listenerCertificateProblems(["cert_a"], [], place, new Set());
    expect(listenerCertificateProblems(["cert_a"], [foreign], place, new Set())).toEqual(absent);
    expect(absent.map(({ rule }) => rule)).toEqual(["certificate_unknown"]);
  });
  test("that it has already stay when they have expired", () => {
    expect(problems([certificate("cert_a", { status: "expired" })], ["cert_a"])).toEqual([]);
  });
  test("do not have the same name twice; a wildcard beside one of its names is no overlap", () => {
    const a = certificate("cert_a", { domainNames: ["x.example", "*.y.example"] });
    expect(problems([a, certificate("cert_b", { domainNames: ["x.example"] })])).toEqual([
      "/certificate_ids/1 certificate_names_overlap",
    ]);
    expect(problems([a, certificate("cert_b", { domainNames: ["*.y.example"] })])).toEqual([
      "/certificate_ids/1 certificate_names_overlap",
    ]);
    expect(problems([a, certificate("cert_b", { domainNames: ["z.y.example"] })])).toEqual([]);
  });
});
