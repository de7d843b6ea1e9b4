import type { Transporter } from "nodemailer";
import { isLoopback } from "../../core/plugin/index.ts";
import type { MailText } from "./mail-text.ts";
import type { SmtpOptions } from "./options.ts";

interface Sent {
  /** A mail that is sent twice has one Message-ID. */
  readonly id?: string;
  /** Takes a POST that switches mails of this kind off (RFC 8058). */
  readonly unsubscribeAt?: string | undefined;
}

/** Sends mails, one per call of `send`; rejects if the server does not accept it. */
export interface Transport {
  send(to: string, mail: MailText, sent?: Sent): Promise<void>;
  close(): void;
}

const CONNECTIONS_MAX = 2;
const TIMEOUT_MS = 15_000;

/** Sends mails through an SMTP server. */
export function smtpTransport({
  host,
  port,
  secure,
  user,
  password,
  from,
}: SmtpOptions): Transport {
  const options = {
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    host,
    port,
    secure,
    // Never send a password or the link of a mail unencrypted over a network: who reads the link can sign in.
    requireTLS: !secure && !isLoopback(host),
    ...(user !== undefined && { auth: { user, pass: password ?? "" } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: 2 * TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const domain = /@([^\s@<>]+)>?$/.exec(from)?.[1] ?? "localhost";
  // Loaded with the first mail: the library takes 13 MB.
  let transporter: Promise<Transporter> | undefined;
  const connected = () => {
    transporter ??= import("nodemailer").then(({ createTransport }) => createTransport(options));
    return transporter;
  };
  return {
    async send(to, { subject, text }, { id, unsubscribeAt } = {}) {
      // As an object, the address is never parsed as a list.
      const address = { name: "", address: to };
      const headers = {
        // RFC 3834: automatic responders do not reply.
        "auto-submitted": "auto-generated",
        ...(unsubscribeAt !== undefined && {
          "list-unsubscribe": `<${unsubscribeAt}>`,
          "list-unsubscribe-post": "List-Unsubscribe=One-Click",
        }),
      };
      await (await connected()).sendMail({
        ...{ from, to: address, subject, text, headers },
        ...(id !== undefined && { messageId: `<${id}@${domain}>` }),
      });
    },
    close: () => void transporter?.then((opened) => opened.close()),
  };
}

/** Prints the links of mails to stdout, for use without a mail server. Anyone who reads them can sign in. */
export function printingTransport(): Transport {
  return {
    async send(to, { subject, text }) {
      const link = /^https?:\S+$/m.exec(text)?.[0];
      process.stdout.write(`\nMail to ${to}: ${subject}\n${link ? `  ${link}\n` : ""}\n`);
    },
    close() {},
  };
}
