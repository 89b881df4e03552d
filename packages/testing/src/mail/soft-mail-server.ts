import { EventEmitter, on } from "node:events";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { SMTPServer } from "smtp-server";
import { ownCertificate } from "../rig/own-certificate.ts";

export type ReceivedMail = {
  readonly from: string;
  readonly to: readonly string[];
  /** The complete message, as it was received. */
  readonly source: string;
  /** Its parts, decoded. */
  readonly text: string;
  readonly html: string;
  readonly isEncrypted: boolean;
  readonly user: string | null;
};

/** What the server does with a mail instead of accepting it. */
export type MailFault =
  /** Refuses at the end of the mail, which it does not store. */
  | { readonly at: "data"; readonly code: number }
  /** Takes no mail for the recipient. */
  | { readonly at: "recipient"; readonly code: number }
  /** Stores the mail, and the connection breaks before the answer. */
  | { readonly at: "answer" }
  /** Sends nothing any more. */
  | { readonly at: "silence" };

export type MailServerOptions = {
  readonly security?: "starttls" | "tls" | "none";
  /** The required login of senders; left out, none. */
  readonly login?: { readonly user: string; readonly password: string };
};

/** A real SMTP server on this machine, whose handling of the next mails a test decides. */
export class SoftMailServer {
  readonly host = "127.0.0.1";
  /** Signs the server's own one. */
  readonly ca: string;
  /** The accepted mails. */
  readonly mails: ReceivedMail[] = [];
  readonly #options: MailServerOptions;
  readonly #key: string;
  readonly #troubles: MailFault[] = [];
  readonly #events = new EventEmitter();
  #server: SMTPServer | null = null;
  #port = 0;

  private constructor(options: MailServerOptions) {
    const { keyPem, certificatePem } = ownCertificate();
    this.#options = options;
    this.#key = keyPem;
    this.ca = certificatePem;
  }

  static async start(options: MailServerOptions = {}): Promise<SoftMailServer> {
    const server = new SoftMailServer(options);
    await server.comeBack();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** The next mails meet these, one each, in this order. */
  meet(...troubles: readonly MailFault[]): void {
    this.#troubles.push(...troubles);
  }

  /** The next mail that is taken from now on; call it before what sends one. */
  async nextMail(): Promise<ReceivedMail> {
    for await (const [mail] of on(this.#events, "mail", { signal: AbortSignal.timeout(30_000) })) return mail;
    throw new Error("no mail came");
  }

  /** Resolves when a mail has met a fault; call it before what sends one. */
  async nextTrouble(): Promise<void> {
    for await (const _ of on(this.#events, "trouble", { signal: AbortSignal.timeout(30_000) })) return;
  }

  /** Listens again where it did before. */
  async comeBack(): Promise<void> {
    const { security = "starttls", login } = this.#options;
    const server = new SMTPServer({
      secure: security === "tls",
      key: this.#key,
      cert: this.ca,
      disabledCommands: security === "starttls" ? [] : ["STARTTLS"],
      authOptional: login === undefined,
      closeTimeout: 100,
      onAuth: ({ username, password }, _session, done) =>
        login !== undefined && username === login.user && password === login.password
          ? done(null, { user: username })
          : done(new Error("who is that?")),
      onRcptTo: (_address, _session, done) => {
        const [trouble] = this.#troubles;
        if (trouble?.at !== "recipient") return done();
        this.#over();
        done(refusal(trouble.code));
      },
      onData: (stream, session, done) => {
        readAll(stream).then((source) => {
          const [trouble] = this.#troubles;
          if (trouble !== undefined) this.#over();
          if (trouble?.at === "silence") return;
          if (trouble?.at === "data") return done(refusal(trouble.code));
          const { mailFrom, rcptTo } = session.envelope;
          const mail: ReceivedMail = {
            from: mailFrom === false ? "" : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            source,
            text: partOf(source, "text/plain"),
            html: partOf(source, "text/html"),
            isEncrypted: session.secure,
            user: typeof session.user === "string" ? session.user : null,
          };
          this.mails.push(mail);
          if (trouble?.at === "answer") for (const connection of server.connections) connection.close();
          else done();
          this.#events.emit("mail", mail);
        }, done);
      },
    });
    // A line that breaks is the other side's matter, or ours.
    server.on("error", () => {});
    await new Promise<void>((resolve) => server.listen(this.#port, this.host, resolve));
    this.#port = (server.server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes the port from now on. */
  async goAway(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    // Not their sockets: a TLS session that loses its socket during its handshake ends the process.
    for (const connection of server.connections) connection.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #over(): void {
    this.#troubles.shift();
    this.#events.emit("trouble");
  }
}

function refusal(code: number): Error {
  return Object.assign(new Error("not this one"), { responseCode: code });
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The part of a kind in a mail of two, in quoted-printable. */
function partOf(source: string, kind: string): string {
  const part = source
    .split(/\r\n--[^\r\n]+(?:\r\n|$)/)
    .find((each) => each.includes(`Content-Type: ${kind}`));
  if (part === undefined) return "";
  const head = part.indexOf("\r\n\r\n");
  if (!/Content-Transfer-Encoding: quoted-printable/i.test(part.slice(0, head))) return part.slice(head + 4);
  const bytes = part
    .slice(head + 4)
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8").replaceAll("\r\n", "\n");
}
