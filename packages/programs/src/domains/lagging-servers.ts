import { askNameServer, type ServerAddress } from "@kule/dns/ask-name-server";

/**
 * Which of the name servers do not answer for the zone with that serial or a later one, as texts for operators. Each is
 * asked once, all at the same time.
 *
 * @param zone without its final dot
 */
export async function laggingServers(
  nameServers: readonly ServerAddress[],
  zone: string,
  serial: number,
): Promise<readonly string[]> {
  const found = await Promise.all(
    nameServers.map(async (server) => {
      const why = await lagOf(server, zone, serial);
      return why === null ? [] : [`${server.address} ${why}`];
    }),
  );
  return found.flat();
}

async function lagOf(server: ServerAddress, zone: string, serial: number): Promise<string | null> {
  const answer = await askNameServer(server, { name: zone, type: "SOA" });
  if (answer.outcome === "not-answered") return `does not answer (${answer.reason})`;
  const soa = answer.answers.find(({ type, name }) => type === "SOA" && name === `${zone}.`);
  if (!answer.authoritative || soa === undefined) return `does not serve the zone (${answer.code})`;
  const answered = Number(soa.content.split(" ")[2]);
  return isSameOrLater(answered, serial) ? null : `still answers with serial ${answered}`;
}

/** Serials are compared on a circle of 32 bits (RFC 1982). */
function isSameOrLater(serial: number, than: number): boolean {
  return (serial - than) >>> 0 < 0x8000_0000;
}
