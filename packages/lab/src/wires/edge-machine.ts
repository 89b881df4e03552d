import { spawn } from "node:child_process";
import { createHash, timingSafeEqual } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import ssh2 from "ssh2";
import { PortTaken } from "../port-taken.ts";
import { keptKey } from "./kept-key.ts";
import type { Wires } from "./wires.ts";

/** The agent's access to the region's edge, for its region file. */
export type EdgeMachine = {
  readonly host: string;
  readonly port: number;
  readonly user: "root";
  /** `SHA256:` and base64, as `ssh-keygen -lf` prints it. */
  readonly hostKey: string;
  /** The authorised private key; a file of mode 0600. */
  readonly keyFile: string;
  stop(): Promise<void>;
};

/** The prefix of a command that runs it where the bridges are. */
type Bridges = Pick<Wires, "atBridges">;

/**
 * The machine next to the cluster that routes its private networks: it is where the bridges are, and is
 * reached by SSH with a key, as a real one. Its keys are created at the first start and kept.
 *
 * @param port on loopback; 0 takes any free one
 * @throws PortTaken
 */
export async function startEdgeMachine(wires: Bridges, dataDir: string, port = 0): Promise<EdgeMachine> {
  const folder = join(dataDir, "edge");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const hostKey = keptKey(join(folder, "host_key"));
  const keyFile = join(folder, "client_key");
  const allowed = parse(keptKey(keyFile));
  const connections = new Set<ssh2.Connection>();

  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => {});
    connection.on("authentication", (asked) => {
      if (asked.method !== "publickey") return asked.reject(["publickey"]);
      const isKnown = isSame(asked.key.data, allowed.getPublicSSH()) && asked.username === "root";
      // The first question has no signature: whether the key would do.
      const isProved =
        asked.signature === undefined ||
        (asked.blob !== undefined && allowed.verify(asked.blob, asked.signature, asked.hashAlgo) === true);
      if (isKnown && isProved) asked.accept();
      else asked.reject(["publickey"]);
    });
    connection.on("session", (accept) => {
      accept().on("exec", (begin, _refuse, { command }) => execute(wires, begin(), command));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new PortTaken(port) : error),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const taken = server.address();
  return {
    host: "127.0.0.1",
    port: taken === null || typeof taken === "string" ? port : taken.port,
    user: "root",
    hostKey: fingerprintOf(parse(hostKey).getPublicSSH()),
    keyFile,
    stop: async () => {
      for (const connection of connections) connection.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A command outlives its connection, as it does on any machine. */
function execute(wires: Bridges, channel: ssh2.ServerChannel, command: string): void {
  const [program = "", ...words] = [...wires.atBridges(), "sh", "-c", command];
  const child = spawn(program, words, { stdio: "pipe", env: { PATH: process.env.PATH, HOME: "/root" } });
  channel.on("error", () => {});
  child.stdin.on("error", () => {});
  channel.pipe(child.stdin);
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.once("error", () => channel.close());
  child.once("close", (code, signal) => {
    if (code === null) channel.exit(signal ?? "KILL");
    else channel.exit(code);
    channel.end();
  });
}

function parse(key: string): ssh2.ParsedKey {
  const parsed = ssh2.utils.parseKey(key);
  const [first] = Array.isArray(parsed) ? parsed : [parsed];
  if (first === undefined || first instanceof Error) throw first ?? new Error("no key in it");
  return first;
}

const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;

const isSame = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
