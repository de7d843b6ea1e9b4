import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { systemClock } from "../../../core/process/clock.ts";
import type { Log } from "../../../core/process/log.ts";
import { SecretMails } from "../../../plugins/messages/secret-mails.ts";
import { smtpTransport } from "../../../plugins/messages/transport.ts";
import { recordedLog } from "../../support/log.ts";
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts";

const LINK = "https://tollgate.test/dashboard/reset#token=secret-of-the-link";
const FROM = "Cổng <no-reply@tollgate.test>";
const kind = "reset";
const texts = {
  vi: { subject: "Đặt lại mật khẩu", paragraphs: ["Hãy mở liên kết này:", LINK] },
  en: { subject: "Reset your password", paragraphs: ["Open this link:", LINK] },
};
const mailTo = (to: string) => async () => ({ to, language: "vi", kind, texts }) as const;

async function until(what: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!what()) {
    assert.ok(performance.now() < deadline, "not in time");
    await delay(5);
  }
}

t.test("mails", async (t) => {
  let server: TestMailServer;
  const login = { user: "tollgate", password: "of the server" };
  t.before(async () => {
    server = await startMailServer(login);
  });
  t.teardown(() => server.stop());

  function mailerOf(log: Log): SecretMails {
    const { port } = server;
    const smtp = { host: "127.0.0.1", port, secure: false, from: FROM, ...login };
    return new SecretMails(smtpTransport(smtp), { log, clock: systemClock });
  }

  t.test(
    "are written in both languages, the reader's own first, with the configured sender",
    async (t) => {
      const mailer = mailerOf(recordedLog().log);
      mailer.take(async () => ({ to: "vi@tollgate.test", language: "vi", kind, texts }));
      mailer.take(async () => ({ to: "en@tollgate.test", language: "en", kind, texts }));
      const [vi] = await server.mailsTo("vi@tollgate.test");
      const [en] = await server.mailsTo("en@tollgate.test");
      t.equal(vi?.subject, "Đặt lại mật khẩu / Reset your password");
      t.equal(en?.subject, "Reset your password / Đặt lại mật khẩu");
      t.strictSame(vi?.from?.value, [{ address: "no-reply@tollgate.test", name: "Cổng" }]);
      for (const mail of [vi, en]) {
        t.equal(mail?.text?.split(LINK).length, 3, "the link is in both languages");
        t.equal(mail?.headers.get("auto-submitted"), "auto-generated");
      }
      await mailer.stop();
    },
  );

  t.test(
    "are sent again if the server is busy, and dropped if it refuses them for good",
    async (t) => {
      const { log, lines } = recordedLog();
      const mailer = mailerOf(log);
      server.refusals.push(450);
      mailer.take(mailTo("later@tollgate.test"));
      t.equal((await server.mailsTo("later@tollgate.test")).length, 1);
      server.refusals.push(550);
      mailer.take(mailTo("never@tollgate.test"));
      await until(() => JSON.stringify(lines).includes("giving up"));
      await mailer.stop();
      t.strictSame(mailer.counts, { sent: 1, refused: 1, channel: 0, failed: 0 });
      const told = JSON.stringify(lines);
      t.match(told, /450.*retrying.*550.*giving up/);
      t.ok(!told.includes("secret-of-the-link"), told);
      t.ok(!server.mails.some((mail) => JSON.stringify(mail.to).includes("never@")));
    },
  );

  t.test(
    "are queued up to a limit if the server does not respond, and dropped at a stop",
    async (t) => {
      const silent = createServer(() => {});
      silent.listen(0, "127.0.0.1");
      await once(silent, "listening");
      const address = silent.address();
      assert.ok(address !== null && typeof address === "object");
      const { port } = address;
      const { log, lines } = recordedLog();
      const stuck = smtpTransport({ host: "127.0.0.1", port, secure: false, from: FROM });
      const mailer = new SecretMails(stuck, { log, clock: systemClock });
      const taken = Array.from({ length: 1200 }, (_, n) =>
        mailer.take(mailTo(`${n}@tollgate.test`)),
      );
      // Two are being sent, and a thousand are queued.
      t.equal(taken.filter(Boolean).length, 1002);
      t.ok(mailer.isFull);
      await mailer.stop();
      t.match(JSON.stringify(lines), /1002.*stopped before all mails were sent/);
      silent.close();
    },
  );

  t.test("go unencrypted only to a server on this machine", async (t) => {
    const open = await startMailServer();
    t.teardown(() => open.stop());
    // 0.0.0.0 leads to the same server, but does not say so, as a name would.
    const to = (host: string) =>
      smtpTransport({ host, port: open.port, secure: false, from: FROM });
    const mail = { subject: "Reset your password", text: LINK };
    const [here, elsewhere] = [to("127.0.0.1"), to("0.0.0.0")];
    await t.rejects(elsewhere.send("one@tollgate.test", mail), { code: "ETLS" });
    await here.send("two@tollgate.test", mail);
    t.equal(open.mails.length, 1);
    here.close();
    elsewhere.close();
  });

  t.test("are sent even if earlier jobs had no mail or failed", async (t) => {
    const { log, lines } = recordedLog();
    const mailer = mailerOf(log);
    mailer.take(async () => undefined);
    mailer.take(() => Promise.reject(new Error("no ledger")));
    mailer.take(mailTo("after@tollgate.test"));
    await server.mailsTo("after@tollgate.test");
    t.match(JSON.stringify(lines), /cannot prepare a mail/);
    await mailer.stop();
  });
});
