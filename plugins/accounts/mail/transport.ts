import type { Transporter } from "nodemailer";
import type { SmtpOptions } from "../options.ts";
import type { MailText } from "./texts.ts";

/** Sends one mail, or rejects. */
export interface Transport {
  send(to: string, mail: MailText): Promise<void>;
  close(): void;
}

const CONNECTIONS_MAX = 2;
const TIMEOUT_MS = 15_000;
const OWN_MACHINE = new Set(["localhost", "127.0.0.1", "::1"]);

/** Mails through an SMTP server. */
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
    ...(user !== undefined && {
      auth: { user, pass: password ?? "" },
      // A password goes over no network in clear.
      requireTLS: !secure && !OWN_MACHINE.has(host),
    }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: 2 * TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  // The library is loaded for the first mail only: it takes 13 MB.
  let transporter: Promise<Transporter> | undefined;
  const connected = () => {
    transporter ??= import("nodemailer").then(({ createTransport }) => createTransport(options));
    return transporter;
  };
  return {
    async send(to, { subject, text }) {
      // As an object the address is one address, whatever characters are in it.
      const address = { name: "", address: to };
      // RFC 3834: nobody's absence assistant answers.
      const headers = { "auto-submitted": "auto-generated" };
      await (await connected()).sendMail({ from, to: address, subject, text, headers });
    },
    close: () => void transporter?.then((opened) => opened.close()),
  };
}

/** Prints mails where there is no server for them: for trying out, since whoever reads the output may enter. */
export function printingTransport(): Transport {
  return {
    async send(to, { subject, text }) {
      const link = /^https?:\S+$/m.exec(text)?.[0];
      process.stdout.write(`\nMail to ${to}: ${subject}\n${link ? `  ${link}\n` : ""}\n`);
    },
    close() {},
  };
}
