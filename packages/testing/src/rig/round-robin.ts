import { connect, createServer, type Socket } from "node:net";

/** A simple load balancer: each new connection goes to the next address that accepts it. */
export type RoundRobin = {
  readonly origin: string;
  /** How many connections each address got. */
  readonly counts: ReadonlyMap<string, number>;
  /** Breaks everything off that goes through it, as a network does that changes its mind. New connections pass. */
  cut(): void;
  close(): Promise<void>;
};

/**
 * @param origins as http://127.0.0.1:8080; read again for each connection, so that more can be added
 * @param port where it listens; any free one when left out
 */
export async function startRoundRobin(origins: readonly string[], port = 0): Promise<RoundRobin> {
  const counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => client.destroy());
    client.on("close", () => sockets.delete(client));
    const join = (attempts: number) => {
      const origin = origins[next % origins.length] ?? "";
      next += 1;
      const { hostname, port } = new URL(origin);
      const upstream = connect(Number(port), hostname);
      upstream.once("error", () => {
        if (attempts > 1 && upstream.connecting === false && upstream.bytesRead === 0 && !client.destroyed)
          join(attempts - 1);
        else client.destroy();
      });
      upstream.once("connect", () => {
        counts.set(origin, (counts.get(origin) ?? 0) + 1);
        sockets.add(upstream);
        upstream.removeAllListeners("error");
        upstream.on("error", () => client.destroy());
        upstream.on("close", () => {
          sockets.delete(upstream);
          client.destroy();
        });
        client.on("close", () => upstream.destroy());
        upstream.pipe(client);
        client.pipe(upstream);
      });
    };
    join(origins.length);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    counts,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
