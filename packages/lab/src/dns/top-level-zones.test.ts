import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DecodedPacket, decode, encode } from "dns-packet";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DnsLab } from "./dns-lab.ts";
import { registrarUrl, startTopLevelZones } from "./top-level-zones.ts";

const settings = () => ({
  dataDir,
  apiKey: "key",
  address: "127.0.0.2",
  nameServerAddress: "127.0.0.1",
  reverseZones: ["2.0.192.in-addr.arpa"],
});
let dataDir: string;
let lab: DnsLab;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "kule-top-level-"));
  lab = await startTopLevelZones(settings());
});
afterEach(async () => {
  await lab.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function resolver(): Resolver {
  const made = new Resolver();
  made.setServers([`${lab.address}:${lab.dnsPort}`]);
  return made;
}

/** The whole answer for a PTR record: node:dns does not show a referral. */
async function asked(name: string): Promise<DecodedPacket> {
  const socket = createSocket("udp4");
  try {
    const answered = once(socket, "message", { signal: AbortSignal.timeout(5_000) });
    socket.send(
      encode({ type: "query", id: 1, questions: [{ type: "PTR", name }] }),
      lab.dnsPort,
      lab.address,
    );
    const [bytes] = (await answered) as [Buffer];
    return decode(bytes);
  } finally {
    socket.close();
  }
}

async function enter(name: string, type: string, content: string): Promise<number> {
  const response = await fetch(registrarUrl(lab.url), {
    method: "PATCH",
    headers: { "X-API-Key": "key" },
    body: JSON.stringify({
      rrsets: [{ name, type, ttl: 60, changetype: "REPLACE", records: [{ content, disabled: false }] }],
    }),
  });
  await response.text();
  return response.status;
}

test("every name server's name below the patterns has the address of the lab's DNS", async () => {
  expect(await resolver().resolve4("kanything.ns1.lab.test")).toEqual(["127.0.0.1"]);
  expect(await resolver().resolve4("kanything.ns2.lab.test")).toEqual(["127.0.0.1"]);
});

test("names outside of the top-level domain do not exist, as the root says", async () => {
  await expect(resolver().resolveTxt("example.com")).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("a reverse zone of the lab is delegated to the lab's name servers, and no other one", async () => {
  const { answers, authorities } = await asked("7.2.0.192.in-addr.arpa");
  expect(answers).toEqual([]);
  expect(authorities).toMatchObject(
    ["ns1", "ns2"].map((server) => ({
      type: "NS",
      name: "2.0.192.in-addr.arpa",
      data: `reverse.${server}.lab.test`,
    })),
  );
  expect(await resolver().resolve4("reverse.ns1.lab.test")).toEqual(["127.0.0.1"]);
  await expect(resolver().reverse("198.51.100.7")).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("what the registrar was told is there, also after a restart", async () => {
  expect(await enter("_kule-verification.shop.test.", "TXT", '"kule-verification=1"')).toBe(204);
  expect(await enter("shop.example.", "TXT", '"kule-verification=1"')).toBe(422);
  await lab.close();
  lab = await startTopLevelZones(settings());
  expect(await resolver().resolveTxt("_kule-verification.shop.test")).toEqual([["kule-verification=1"]]);
});
