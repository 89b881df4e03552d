import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type DecodedPacket, decode, encode, type RecordType } from "dns-packet";

/**
 * What a name server answers to one question over UDP, with all sections: node:dns shows the answers alone, and not those
 * of every type.
 *
 * @param server address and port
 * @throws Error when nothing comes within five seconds
 */
export async function askNameServer(server: string, name: string, type: RecordType): Promise<DecodedPacket> {
  const [address = "", port = ""] = server.split(":");
  const socket = createSocket("udp4");
  try {
    const answered = once(socket, "message", { signal: AbortSignal.timeout(5_000) });
    socket.send(encode({ type: "query", id: 1, questions: [{ type, name }] }), Number(port), address);
    const [bytes] = (await answered) as [Buffer];
    return decode(bytes);
  } finally {
    socket.close();
  }
}
