import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

/** Wordings that readers had to read twice, or that say the opposite of what is meant. */
const readTwice: readonly (readonly [files: string, wording: RegExp])[] = [
  ["en*.ts", /sends? with (its|their) own|worlds? of (its|their) own|Nobody is reached by/i],
  ["en*.ts", /Take an address|let pass/i],
  ["en*.ts", /(Nothing|This) stands in the way|another look|required format|do not go together/i],
  ["en*.ts", /Take the power|acts as API calls|look again|last look|everything (its|your) role may/i],
  ["en*.ts", /Who reaches whom|way of the packet|(Will be|What was) asked for/i],
  ["en*.ts", /Forget an?\b|Forward .* no more/i],
  ["en*.ts", /Month before|As at first|until something is said|may be otherwise|not whole/i],
  ["tr*.ts", /Adın başı|İçerideki ana makine|kendi MAC adresiyle|Bir anahtarla betikler/],
];

test.each(readTwice)("%s have no %s", (files, wording) => {
  const found = globSync(files, { cwd: import.meta.dirname })
    .flatMap((file) => readFileSync(join(import.meta.dirname, file), "utf8").split("\n"))
    .filter((line) => wording.test(line));
  expect(found).toEqual([]);
});

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
