import { askNameServer } from "@kule/testing/ask-name-server";
import type { DomainStage } from "./domain-stage.ts";

type Part = { readonly tried: number; readonly found: readonly string[] };

/** Names that try to be more than a name: in a zone file, in a path, in JSON, in the provider's API, in DNS itself. */
const hostileNames = [
  "a b",
  "a\tb",
  "a\nother 60 IN A 203.0.113.66",
  "a\r\n$ORIGIN victim.test.",
  "a;b",
  'a"b',
  "a'b",
  "a\\.b",
  "a\\032b",
  "a\\000b",
  "a\u0000b",
  "../../zones/victim.test.",
  "a/b",
  "a%2fb",
  "a?b#c",
  "$INCLUDE",
  "$(id)",
  "a..b",
  ".a",
  "*a",
  "a.*",
  "a.victim.test.",
  "x".repeat(64),
  `${"x".repeat(60)}.`.repeat(5),
  "xn--\u0131",
  "_kule-verification.victim.test.",
] as const;

/** Names that are allowed and look odd. */
const oddNames = [
  "_a._tcp",
  "-a",
  "a-",
  "_",
  "a_b",
  "*",
  "*.deep",
  "xn--mnchen-3ya",
  "0",
  "x".repeat(63),
] as const;

/** A text of random bytes in the quoted form, so that every byte occurs, and what it stands for. */
function randomBytes(
  random: () => number,
  length: number,
): { readonly quoted: string; readonly bytes: Buffer } {
  const bytes = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
  const quoted = [...bytes].map((byte) => `\\${String(byte).padStart(3, "0")}`).join("");
  return { quoted: `"${quoted}"`, bytes };
}

const plainTexts = [
  "v=spf1 -all; $ORIGIN x.",
  "' or 1=1; drop table record_set; --",
  "back\\slash and (parentheses) ; comment",
  "tab\tand\u0001control\u007f",
  "🦄 ünïcode",
  "</script><script>alert(1)</script>",
  `long ${"x".repeat(300)}`,
] as const;

/**
 * What an owner writes as names and texts: a wrong one is refused and changes nothing, a right one is served byte for byte,
 * and nothing else comes to be in the zone.
 */
export async function hostileTexts(stage: DomainStage, random: () => number): Promise<Part> {
  const { domains, acme } = stage;
  const { lab } = domains;
  const server = `${lab.address}:${lab.dnsPort}`;
  const found: string[] = [];
  let tried = 0;
  domains.startWorker();
  const domain = await domains.addServedDomain(acme.owner);
  const change = (name: string, type: string, value: string) =>
    acme.owner.post(`/domains/${domain.id}/changes`, {
      changes: [{ op: "upsert", name, type, ttl: 60, values: [value] }],
    });
  for (const name of hostileNames) {
    tried += 1;
    const answer = await change(name, "A", "192.0.2.1");
    if (answer.status !== 422) found.push(`the name ${JSON.stringify(name)} is answered ${answer.status}`);
  }
  const wanted = new Map<string, Buffer>();
  const texts = [
    ...plainTexts.map((text) => ({ value: text, bytes: Buffer.from(text) })),
    ...[1, 7, 255, 256, 400].map((length) => {
      const { quoted, bytes } = randomBytes(random, length);
      return { value: quoted, bytes };
    }),
  ];
  for (const [index, { value, bytes }] of texts.entries()) {
    tried += 1;
    const name = oddNames[index] ?? `t${index}`;
    const answer = await change(name, "TXT", value);
    if (answer.status !== 202) found.push(`the text ${JSON.stringify(value)} is answered ${answer.status}`);
    else wanted.set(name, bytes);
  }
  await acme.owner.post(`/domains/${domain.id}/apply`);
  const open = await acme.owner.get("/jobs?kind=DomainApply&status=queued&status=running");
  for (const { id } of open.body.items) found.push(...(await stage.ended(id)));
  for (const [name, bytes] of wanted) {
    const { answers = [] } = await askNameServer(server, `${name}.${domain.name}`, "TXT");
    const served = Buffer.concat(
      answers.flatMap((answer) => (answer.type === "TXT" ? ([answer.data].flat(2) as Buffer[]) : [])),
    );
    if (!served.equals(bytes)) found.push(`TXT of ${name} is served as ${served.toString("hex")}`);
  }
  const zone = await domains.provider.readZone(domain.name);
  const names = (zone?.recordSets ?? [])
    .filter(({ type }) => type !== "SOA" && type !== "NS")
    .map((each) => `${each.name} ${each.type}`);
  const expected = [...wanted.keys()].map((name) => `${name}.${domain.name}. TXT`);
  if (names.toSorted().join() !== expected.toSorted().join())
    found.push(`the zone has ${names.toSorted().join(", ")}`);
  await domains.stopWorker();
  return { tried, found };
}
