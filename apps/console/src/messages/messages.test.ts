import { expect, test } from "vitest";
import { formatOf } from "./format.ts";
import { chooseLanguage, messagesOf } from "./messages.ts";

test.each([
  [undefined, undefined, "en"],
  [undefined, "tr-TR,tr;q=0.9,en-US;q=0.8", "tr"],
  [undefined, "en;q=0.8, tr", "tr"],
  [undefined, "de-DE,de;q=0.9", "en"],
  [undefined, "de, tr;q=0.1", "tr"],
  [undefined, "tr;q=0", "en"],
  ["en", "tr", "en"],
  ["xx", "tr", "tr"],
] as const)("chosen %s and accepting %s speaks %s", (chosen, accepted, language) => {
  expect(chooseLanguage(chosen, accepted)).toBe(language);
});

test("the Turkish status of a server being created is kuruluyor", () => {
  expect(messagesOf("tr").servers.status.creating).toBe("kuruluyor");
});

test("each language's texts contain no text of the other", () => {
  const english = texts(messagesOf("en"));
  const same = texts(messagesOf("tr")).filter(
    ([path, text]) =>
      english.some(([other, word]) => other === path && word === text) && /\p{L}{4}/u.test(text),
  );
  // Names that are the same in both.
  expect(same.map(([path]) => path)).toEqual([
    "restore.kinds.vlan",
    "organisations.segmentKinds.disk",
    "firewalls.protocols.icmp",
    "firewalls.protocols.icmpv6",
    "reach.port",
    "domains.dnssec",
    "domains.sign.title",
    "loadBalancers.listener.protocols.http",
    "loadBalancers.listener.protocolNames.http",
    "loadBalancers.listener.protocolNames.https",
    "loadBalancers.listener.port",
    "resourceTabs.tabs.dnssec",
    "product",
    "consoles.acts.ctrlAltDel",
    "create.linux",
    "create.windows",
    "create.disk",
    "usage.ndjson",
    "usage.vcpu",
    "usage.disk",
    "usage.quotaNames.disk_gb",
    "segments.kinds.disk",
    "networks.tiers.mgmt",
    "networks.tiers.data",
  ]);
});

test.each(["en", "tr"] as const)("no text of %s has a name of the code in it", (language) => {
  const camelCase = texts(messagesOf(language)).flatMap(
    ([, text]) => text.match(/\b\p{Ll}+\p{Lu}\p{L}*/gu) ?? [],
  );
  const known = new Set(["vCPU", "vCPUs", "noVNC"]);
  expect(camelCase.filter((word) => !known.has(word))).toEqual([]);
});

function texts(value: unknown, path = ""): [path: string, text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => texts(inner, path === "" ? key : `${path}.${key}`));
}

test("times and sizes are written as each language writes them", () => {
  const now = new Date("2026-11-21T06:00:00Z");
  const tr = formatOf("tr");
  const en = formatOf("en");
  expect(tr.dateTime("2026-11-21T05:13:00Z")).toBe("21 Kasım 2026 05:13 UTC");
  expect(en.relative("2026-11-21T05:13:00Z", now)).toBe("47 minutes ago");
  expect(tr.relative("2026-11-24T06:00:00Z", now)).toBe("3 gün sonra");
  expect(en.duration(0)).toBe("0 seconds");
  expect(tr.duration(65_000)).toBe("1 dakika 5 saniye");
  expect(en.memory(2048)).toBe("2 GB");
  expect(tr.number(1234.5)).toBe("1.234,5");
  expect(tr.percent(40)).toBe("%40");
});
