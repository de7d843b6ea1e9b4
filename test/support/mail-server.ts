import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

const TIMEOUT_MS = 30_000;

/** A real SMTP server that keeps the mail it receives. */
export interface TestMailServer {
  readonly port: number;
  readonly mails: readonly ParsedMail[];
  /** Status codes for the next recipients (such as `450` or `550`), instead of accepting them. */
  readonly refusals: number[];
  /** The same for the next senders. */
  readonly senderRefusals: number[];
  /** Resolves with the mails to an address once there are `count`. */
  mailsTo(address: string, count?: number): Promise<ParsedMail[]>;
  /**
   * Resolves with the newest mail to an address whose subject or text is like this, once there are `count`: mails of
   * different kinds come in any order.
   */
  mailTo(address: string, like: RegExp, count?: number): Promise<ParsedMail>;
  /** Resolves with the first link to a page of the dashboard that is mailed to an address. */
  linkTo(address: string, page: "verify" | "reset"): Promise<string>;
  stop(): Promise<void>;
}

export async function startMailServer(
  login?: { user: string; password: string },
  wantedPort = 0,
): Promise<TestMailServer> {
  const mails: ParsedMail[] = [];
  const refusals: number[] = [];
  const senderRefusals: number[] = [];
  const refuseNext = (codes: number[], done: (error?: Error) => void) => {
    const code = codes.shift();
    if (code === undefined) done();
    else done(Object.assign(new Error("not now"), { responseCode: code }));
  };
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    authOptional: login === undefined,
    allowInsecureAuth: true,
    // A gateway keeps its connections open: by default a stop waits 30 s for them.
    closeTimeout: 1_000,
    onAuth({ username, password }, _session, done) {
      const isRight = username === login?.user && password === login?.password;
      if (isRight) done(null, { user: username });
      else done(new Error("wrong password"));
    },
    onMailFrom: (_address, _session, done) => refuseNext(senderRefusals, done),
    onRcptTo: (_address, _session, done) => refuseNext(refusals, done),
    onData(stream, _session, done) {
      simpleParser(stream).then((mail) => {
        mails.push(mail);
        done();
      }, done);
    },
  });

  async function mailsTo(address: string, count = 1, like = /^/): Promise<ParsedMail[]> {
    const deadline = performance.now() + TIMEOUT_MS;
    const isWanted = (mail: ParsedMail) =>
      addressesOf(mail).includes(address) &&
      (like.test(mail.subject ?? "") || like.test(mail.text ?? ""));
    for (;;) {
      const found = mails.filter(isWanted);
      if (found.length >= count) return found;
      if (performance.now() > deadline) {
        throw new Error(`${found.length} of ${count} mails to ${address}`);
      }
      await delay(10);
    }
  }

  // The end of a gateway resets its connections.
  server.on("error", () => {});
  server.listen(wantedPort, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    mails,
    refusals,
    senderRefusals,
    mailsTo,
    async mailTo(address, like, count = 1) {
      const [newest] = (await mailsTo(address, count, like)).slice(-1);
      if (newest === undefined) throw new Error(`no mail to ${address}`);
      return newest;
    },
    async linkTo(address, page) {
      const pattern = new RegExp(`https?://\\S+/dashboard/${page}#token=[\\w-]+`);
      for (let count = 1; ; count++) {
        const texts = (await mailsTo(address, count)).map(({ text }) => text ?? "");
        const [link] = texts.flatMap((text) => pattern.exec(text) ?? []);
        if (link !== undefined) return link;
      }
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

function addressesOf({ to }: ParsedMail): (string | undefined)[] {
  const objects = to === undefined ? [] : Array.isArray(to) ? to : [to];
  return objects.flatMap(({ value }) => value.map(({ address }) => address));
}

/** The token in the link of a mail. */
export function tokenIn(mail: ParsedMail | undefined): string {
  const token = /#token=([\w-]+)/.exec(mail?.text ?? "")?.[1];
  if (token === undefined) throw new Error(`no link in: ${mail?.text}`);
  return token;
}
