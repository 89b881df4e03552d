import { connect } from "node:net";
import { type MailServer, readMailFile } from "@kule/region-config/mail-file";
import type { SMTPTransportOptions } from "nodemailer";
import { BadSettings, type Settings } from "../platform/settings.ts";

export type Mail = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

/** Sends mails by an installation's mail server. */
export type Mailer = {
  /**
   * @returns null when the server has accepted the mail, or its text when it will never accept one for this
   * recipient
   * @throws when it may accept it later: it is unreachable, busy, or requires another name or password
   */
  send(mail: Mail, signal: AbortSignal): Promise<string | null>;
};

/**
 * From the first packet to the server's last answer: a slow server delays the mails behind it no longer than
 * this.
 */
const longestMs = 20_000;
/** Without any data from the server. */
const silenceMs = 10_000;

/**
 * The sender of an installation's mails; null where nothing is mailed.
 *
 * @throws BadSettings with what is wrong in the file that KULE_MAIL_FILE names, each with its line
 */
export function readMailer(
  { mailFile }: Pick<Settings, "mailFile">,
  environment: Readonly<Record<string, string | undefined>>,
): Mailer | null {
  if (mailFile === null) return null;
  const server = readMailFile(mailFile, environment);
  if (typeof server === "string") throw new BadSettings(server);
  return mailerOf(server);
}

/** A connection for each mail: there are few, and no connection stays open unused. */
export function mailerOf(server: MailServer): Mailer {
  return {
    async send(mail, signal) {
      const until = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
      // Loaded with the first mail: most installations' workers need its memory never, and all at first.
      const { createTransport } = await import("nodemailer");
      const transport = createTransport(transportOf(server, until));
      try {
        const sent = transport.sendMail({
          from: server.from,
          to: { name: "", address: mail.to },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          textEncoding: "quoted-printable",
          headers: { "Auto-Submitted": "auto-generated" },
          disableFileAccess: true,
          disableUrlAccess: true,
        });
        await Promise.race([sent, rejectedBy(until)]);
        return null;
      } catch (error) {
        const words = refusedForGood(error);
        if (words === null) throw error;
        return words;
      } finally {
        transport.close();
      }
    },
  };
}

/**
 * Connects, encrypts and signs in as for a mail, and sends none.
 *
 * @throws what nodemailer says went wrong
 */
export async function tryMailServer(server: MailServer, signal: AbortSignal): Promise<void> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport(transportOf(server, signal));
  try {
    await Promise.race([transport.verify(), rejectedBy(signal)]);
  } finally {
    transport.close();
  }
}

function transportOf(server: MailServer, until: AbortSignal): SMTPTransportOptions {
  const { host, port, security, login, ca } = server;
  return {
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password.reveal() } }),
    tls: { minVersion: "TLSv1.2", ...(ca === null ? {} : { ca }) },
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    getSocket(_options, callback) {
      const socket = connect({ host, port });
      const failed = (error: Error) => callback(error, false);
      socket.once("error", failed);
      socket.once("connect", () => {
        socket.off("error", failed);
        callback(null, { connection: socket });
      });
      // Nothing waits for it any more, and neither does the process. Not destroyed once it is connected: a
      // TLS session that loses its socket during its handshake ends the process with SIGSEGV (seen in Node
      // 26).
      until.addEventListener("abort", () => (socket.connecting ? socket.destroy() : socket.unref()), {
        once: true,
      });
    },
  };
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error("the mail server has not answered in time"));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

/**
 * Only refusals of the recipient: a refused sender, or a wrong name and password, can be corrected by the
 * operator.
 */
function refusedForGood(error: unknown): string | null {
  const { command, responseCode, response } = error as {
    readonly command?: unknown;
    readonly responseCode?: unknown;
    readonly response?: unknown;
  };
  const isForGood = command === "RCPT TO" && typeof responseCode === "number" && responseCode >= 500;
  return isForGood ? String(response) : null;
}
