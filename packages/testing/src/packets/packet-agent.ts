// Sends and answers packets in its namespace, as a server would. Controlled by lines on its standard input,
// and answers each with one.

import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import type { MachineOrder, MachineOrderResult, Outcome } from "./machine-orders.ts";

type Reply = MachineOrderResult["outcome"];

const say = (result: MachineOrderResult) => process.stdout.write(`${JSON.stringify(result)}\n`);

async function run(errand: MachineOrder): Promise<Reply> {
  if (errand.do === "listen") {
    const ready = errand.protocol === "tcp" ? listenTcp(errand.port) : listenUdp(errand.port);
    return ready.then(() => "passed" as const);
  }
  if (errand.do === "arrivals") return { arrivals: arrivals.splice(0) };
  if (errand.do === "connect") return open(errand);
  if (errand.do === "speak") return speak(errand);
  switch (errand.protocol) {
    case "icmp":
      return ping(errand);
    case "tcp":
      return dial(errand);
    case "udp":
      return call(errand);
  }
}

/** The network's error messages. Any other error is this machine's own and says nothing about the network. */
const networkErrors = new Map<string | undefined, Outcome>([
  ["ECONNREFUSED", "refused"],
  ["ECONNRESET", "silent"],
  ["EHOSTUNREACH", "silent"],
  ["ENETUNREACH", "silent"],
  ["ETIMEDOUT", "silent"],
  // The error of a filter on the way out of a machine.
  ["EPERM", "silent"],
]);
const told = (error: NodeJS.ErrnoException): Reply =>
  networkErrors.get(error.code) ?? { failed: error.message };

const arrivals: string[] = [];
const connections = new Map<number, Socket>();

function open({ id, to, port }: Extract<MachineOrder, { do: "connect" }>): Promise<Reply> {
  return new Promise((resolve) => {
    const socket = connect({ host: to, port });
    socket.on("error", (error) => resolve(told(error)));
    socket.once("data", (bytes) => {
      connections.set(id, socket);
      resolve({ seenAs: bytes.toString().trim() });
    });
  });
}

function speak({ connection, waitMs }: Extract<MachineOrder, { do: "speak" }>): Promise<Reply> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("silent"), waitMs);
    const socket = connections.get(connection);
    socket?.once("data", () => {
      clearTimeout(timer);
      resolve("passed");
    });
    socket?.write("?");
  });
}

type Send = Extract<MachineOrder, { do: "send" }>;

function ping({ to, from, waitMs, bytes }: Send): Promise<Reply> {
  const wait = String(Math.max(0.2, waitMs / 1000));
  const size = bytes === undefined ? [] : ["-s", String(bytes)];
  const source = from === undefined ? [] : ["-I", from];
  return new Promise((resolve) =>
    execFile("ping", ["-n", "-c", "1", "-W", wait, ...size, ...source, to], (error) =>
      resolve(error === null ? "passed" : "silent"),
    ),
  );
}

/**
 * The first line from the other side names the address that it saw. It ends with a reset: a closed connection
 * keeps its port for a minute, and a machine that connects for a minute would run out of ports.
 */
function dial({ to, port, from, waitMs }: Send): Promise<Reply> {
  return new Promise((resolve) => {
    const socket = connect({
      host: to,
      port: port ?? 0,
      ...(from === undefined ? {} : { localAddress: from }),
    });
    const end = (outcome: Reply) => {
      clearTimeout(timer);
      if (socket.connecting || socket.destroyed) socket.destroy();
      else socket.resetAndDestroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => end("silent"), waitMs);
    socket.once("data", (bytes) => end({ seenAs: bytes.toString().trim() }));
    socket.once("error", (error) => end(told(error)));
  });
}

function call({ to, port, from, waitMs }: Send): Promise<Reply> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    const end = (outcome: Reply) => {
      clearTimeout(timer);
      socket.close();
      resolve(outcome);
    };
    const timer = setTimeout(() => end("silent"), waitMs);
    socket.once("message", (bytes) => end({ seenAs: bytes.toString() }));
    socket.once("error", (error) => end(told(error)));
    socket.bind({ address: from ?? "0.0.0.0" }, () => socket.send("?", port ?? 0, to));
  });
}

function listenTcp(port: number): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write(`${socket.remoteAddress?.replace("::ffff:", "")}\n`);
    socket.on("data", (bytes) => socket.write(bytes));
  });
  return new Promise((resolve) => server.listen(port, "0.0.0.0", resolve));
}

/** A socket for each address: one for all of them would answer from whichever it likes best. */
async function listenUdp(port: number): Promise<void> {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  await Promise.all(
    own
      .filter(({ family }) => family === "IPv4")
      .map(({ address }) => {
        const socket = createSocket("udp4");
        socket.on("message", (_, { address: caller, port: back }) => {
          arrivals.push(caller);
          socket.send(caller, back, caller);
        });
        return new Promise<void>((resolve) => socket.bind(port, address, resolve));
      }),
  );
}

for await (const line of createInterface({ input: process.stdin })) {
  const errand = JSON.parse(line) as MachineOrder;
  void run(errand).then((outcome) => say({ id: errand.id, outcome }));
}
