// Connections to Proxmox. Its certificates are usually signed by the cluster's own CA, so operators pin. Turning
// verification off and comparing the fingerprint in checkServerIdentity pins nothing: Node does not call it for a
// chain it has not verified, nor on a resumed session. So the handshake is awaited here, the certificate compared,
// and only then does the socket reach the code that writes requests. No session is ever resumed.

import { Agent, type AgentOptions } from "node:https";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Timers } from "./runtime.ts";

/** Exactly one way to trust the server. */
export type TlsTrust =
  | { readonly ca: string }
  /** SHA-256 of the leaf certificates, one for each node; colons and case do not matter. */
  | { readonly fingerprints: readonly string[] }
  | { readonly system: true };

/** Thrown into the request when the certificate is not a pinned one. No byte of a request has been written. */
export class FingerprintMismatch extends Error {
  readonly fingerprint: string;
  constructor(fingerprint: string) {
    super(
      `the server's certificate has the SHA-256 fingerprint ${fingerprint}, which the region file does not name`,
    );
    this.name = "FingerprintMismatch";
    this.fingerprint = fingerprint;
  }
}

/** Errors of certificate checking by ca or system CAs start with one of these codes. */
export function isCertificateError(error: unknown): boolean {
  if (error instanceof FingerprintMismatch) return true;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|HOSTNAME_MISMATCH)/.test(code);
}

function normalFingerprint(text: string): string {
  return text.replaceAll(":", "").toUpperCase();
}

/** Throws a TypeError when the region file's trust is none or more than one, or a fingerprint is malformed. */
export function checkTrust(trust: TlsTrust): void {
  const ways = (["ca", "fingerprints", "system"] as const).filter((way) => way in trust);
  if (ways.length !== 1) throw new TypeError("tls needs exactly one of ca, fingerprints, system");
  if ("fingerprints" in trust) {
    if (trust.fingerprints.length === 0) throw new TypeError("tls.fingerprints is empty");
    for (const each of trust.fingerprints)
      if (!/^[0-9A-F]{64}$/.test(normalFingerprint(each)))
        throw new TypeError(`${each} is not a SHA-256 fingerprint`);
  }
}

/** pveproxy closes an idle connection after 5 s: leaving first is what avoids a reset in the middle of a call. */
const IDLE_MILLISECONDS = 3000;

/** An https agent whose sockets have proven who they talk to. */
export class TrustedAgent extends Agent {
  readonly #trust: TlsTrust;
  readonly #connectMilliseconds: number;
  readonly #timers: Timers;

  constructor(
    trust: TlsTrust,
    timers: Timers,
    options: Pick<AgentOptions, "keepAlive" | "maxSockets"> & { connectMilliseconds: number },
  ) {
    checkTrust(trust);
    super({
      keepAlive: options.keepAlive ?? false,
      maxSockets: options.maxSockets ?? 8,
      maxCachedSessions: 0,
    });
    this.#trust = trust;
    this.#connectMilliseconds = options.connectMilliseconds;
    this.#timers = timers;
  }

  override createConnection(
    options: ConnectionOptions & { host?: string | undefined; port?: number | string | undefined },
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const trust = this.#trust;
    const host = options.host ?? "localhost";
    const socket: TLSSocket = connect({
      host,
      port: Number(options.port ?? 8006),
      // A name is needed for SNI; an address is not allowed there.
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ...("ca" in trust ? { ca: trust.ca } : {}),
      rejectUnauthorized: !("fingerprints" in trust),
      minVersion: "TLSv1.2",
    });
    let settled = false;
    const settle = (error: Error | null) => {
      if (settled) return;
      settled = true;
      cancelTimer();
      socket.removeListener("error", settle);
      // From here on errors belong to the request; until it listens they must not end the process.
      if (error) {
        socket.on("error", () => {});
        socket.destroy();
      }
      callback?.(error, socket);
    };
    const cancelTimer = this.#timers.after(this.#connectMilliseconds, () =>
      settle(
        Object.assign(new Error(`no connection to ${host} in ${this.#connectMilliseconds} ms`), {
          code: "ETIMEDOUT",
        }),
      ),
    );
    socket.once("error", settle);
    socket.once("secureConnect", () => {
      if ("fingerprints" in trust) {
        const fingerprint = socket.getPeerCertificate().fingerprint256 ?? "";
        const pinned = trust.fingerprints.some(
          (each) => normalFingerprint(each) === normalFingerprint(fingerprint),
        );
        if (!pinned || fingerprint === "") return settle(new FingerprintMismatch(fingerprint));
      }
      settle(null);
    });
    return undefined;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // The types say void; the agent reads the answer and closes the socket on false.
    if ((super.keepSocketAlive(socket) as unknown) === false) return false;
    if ("setTimeout" in socket) (socket as TLSSocket).setTimeout(IDLE_MILLISECONDS);
    return true;
  }
}
