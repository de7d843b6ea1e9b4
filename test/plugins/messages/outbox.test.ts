import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { objectOf } from "../../../core/process/json.ts";
import { Channels } from "../../../plugins/messages/channels.ts";
import { Outbox } from "../../../plugins/messages/outbox.ts";
import { SecretMails } from "../../../plugins/messages/secret-mails.ts";
import { printingTransport, type Transport } from "../../../plugins/messages/transport.ts";
import { type AccountsGateway, MAIL_FROM, startAccountsGateway } from "../../support/accounts.ts";
import { type AdminTarget, admin, createCustomer } from "../../support/admin.ts";
import { ArmedGateway } from "../../support/armed.ts";
import { BrowserSession, ownAddress, PASSWORD, signedUp } from "../../support/browser-session.ts";
import { startLocalServer } from "../../support/local-server.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { until } from "../../support/until.ts";
import { bootInProcess, type GatewayInProcess } from "../accounts/in-process.ts";

type Row = Record<string, unknown>;

const MINUTE_MS = 60_000;
const NEW_BROWSER = /Sign-in from a new browser/;

/** Signs in from a browser that the account does not know, which its owner gets a mail about. */
async function signInElsewhere(target: { url: string }, email: string): Promise<void> {
  const other = new BrowserSession(target);
  other.headers = { "x-forwarded-for": ownAddress(), "user-agent": "Browser/9" };
  assert.equal((await other.signIn(email, PASSWORD)).status, 200);
}

/** Lists messages of a state, which further filters may follow. */
async function messages(gateway: AdminTarget, state = "waiting"): Promise<Row[]> {
  return (await admin(gateway, "GET", `/messages?state=${state}`)).body["list"] as Row[];
}

t.test(
  "a mail is sent once, though its gateway is killed before the mail server is there",
  async (t) => {
    const all: AccountsGateway = await startAccountsGateway();
    t.teardown(() => all.close());
    const { gateway, mailServer } = all;
    const { email } = await signedUp(gateway, mailServer);
    const { port } = mailServer;
    await mailServer.stop();
    await signInElsewhere(gateway, email);
    await gateway.kill9();
    const later = await startMailServer(undefined, port);
    t.teardown(() => later.stop());
    await gateway.start();
    const [waiting] = await messages(gateway);
    // It waits if the killed gateway had tried to send it.
    if (waiting) await admin(gateway, "POST", `/messages/${waiting["id"]}/retry`, {});
    await later.mailsTo(email);
    await until("nothing waits", async () => (await messages(gateway)).length === 0);
    t.match(
      later.mails.map(({ subject }) => subject),
      [NEW_BROWSER],
    );
    t.match(later.mails[0]?.messageId, /^<message-\d+@tollgate\.test>$/);
  },
);

t.test(
  "a mail whose gateway is killed before it is marked as sent comes twice at most",
  async (t) => {
    const mailServer = await startMailServer();
    const smtp = { host: "127.0.0.1", port: mailServer.port, from: MAIL_FROM };
    const armed = await ArmedGateway.start("message.sent", { plugins: { messages: { smtp } } });
    const { gateway } = armed;
    t.teardown(async () => {
      await gateway.close();
      await mailServer.stop();
    });
    const { email } = await signedUp(gateway, mailServer);
    await signInElsewhere(gateway, email);
    await armed.died();
    await armed.startUnarmed();
    const [waiting] = await messages(gateway);
    t.match(waiting, { to: email, kind: "new-browser", attempts: 1 });
    await admin(gateway, "POST", `/messages/${waiting?.["id"]}/retry`, {});
    await until("nothing waits", async () => (await messages(gateway)).length === 0);
    const [first, second, ...more] = (await mailServer.mailsTo(email)).filter(({ subject = "" }) =>
      NEW_BROWSER.test(subject),
    );
    t.strictSame(more, []);
    t.equal(first?.messageId, second?.messageId);
    const [sent] = await messages(gateway, "sent");
    t.match(sent, { id: waiting?.["id"], to: email });
    const { body } = await admin(gateway, "GET", `/messages/${sent?.["id"]}`);
    t.match(body["en"], /signed in to your account from a new browser:\n\n\S+, Browser\/9/);
  },
);

t.test("mails of a gateway whose clock a test moves", async (t) => {
  let booted: GatewayInProcess;
  t.before(async () => {
    booted = await bootInProcess();
  });
  t.teardown(() => booted.close());

  t.test("wait while the mail server is down for an hour, then arrive once", async (t) => {
    const { mailServer } = booted;
    const { email } = await signedUp(booted, mailServer);
    const { port } = mailServer;
    await mailServer.stop();
    await signInElsewhere(booted, email);
    let attempts = 0;
    for (let passedMs = 0; passedMs < 60 * MINUTE_MS; passedMs += 20 * MINUTE_MS) {
      await until("it was tried again", async () => {
        const [waiting] = await messages(booted);
        const isTried = waiting?.["failure"] !== null && Number(waiting?.["attempts"]) > attempts;
        if (isTried) attempts = Number(waiting?.["attempts"]);
        return isTried;
      });
      booted.pass(20 * MINUTE_MS);
    }
    t.equal(attempts, 3);
    const again = await startMailServer(undefined, port);
    t.teardown(() => again.stop());
    booted.pass(60 * MINUTE_MS);
    await again.mailsTo(email);
    await until("nothing waits", async () => (await messages(booted)).length === 0);
    t.equal(again.mails.length, 1);

    t.test("one that is refused for good is shown, and sent again when asked", async (t) => {
      again.refusals.push(550);
      await signInElsewhere(booted, email);
      await until("it is given up", async () => (await messages(booted, "failed")).length > 0);
      const [failed] = await messages(booted, "failed");
      t.match(failed, { to: email, kind: "new-browser", failure: "550", attempts: 1 });
      const { status } = await admin(booted, "POST", `/messages/${failed?.["id"]}/retry`, {});
      t.equal(status, 200);
      await again.mailsTo(email, 2);
      t.strictSame(await messages(booted, "failed"), []);
    });

    t.test(
      "an announcement reaches each customer once, in his language, unless he declines",
      async (t) => {
        const english = await signedUp(booted, again);
        await english.post("/me", { language: "en" });
        const none = await signedUp(booted, again);
        t.strictSame((await none.post("/messages", { off: ["announcement"] })).body.off, [
          "announcement",
        ]);
        const left = await signedUp(booted, again);
        const leave = `/accounts/${left.accountId}/close`;
        assert.equal((await admin(booted, "POST", leave, { reason: "leaves" })).status, 200);
        const texts = { vi: "Giá mới\n\nTừ ngày mai.", en: "New prices\n\nFrom tomorrow." };
        const announce = () =>
          admin(booted, "POST", "/announcements", { name: "prices-1", ...texts });
        const { status, body } = await announce();
        t.strictSame([status, body["recipients"]], [200, 2]);
        t.equal((await announce()).status, 409);
        await until("nothing waits", async () => (await messages(booted)).length === 0);
        const sent = (to: string) =>
          again.mails
            .filter((mail) => JSON.stringify(mail.to).includes(to))
            .map(({ subject, text }) => [subject, text?.split("\n\n—")[0]])
            .filter(([subject]) => subject === "Giá mới" || subject === "New prices");
        t.strictSame(sent(email), [["Giá mới", "Từ ngày mai."]]);

        const [last, ...older] = await messages(booted, "sent&kind=announcement");
        t.match(last, { kind: "announcement", subject: "prices-1" });
        t.equal(older.length, 1);
        const ofOne = `sent&kind=announcement&account=${last?.["account"]}`;
        t.strictSame(await messages(booted, ofOne), [last]);
        t.strictSame(await messages(booted, `${ofOne}&before=${last?.["id"]}`), []);
        t.equal((await admin(booted, "GET", "/messages?account=someone")).status, 400);
        t.strictSame(sent(english.email), [["New prices", "From tomorrow."]]);
        t.strictSame(sent(none.email), []);
        t.strictSame(sent(left.email), [], "who has left cannot switch it off");

        // Prices are a kind of their own: who declines one of them still gets the other.
        await english.post("/messages", { off: ["prices"] });
        const prices = { vi: "Bảng giá\n\nMới.", en: "Price list\n\nNew." };
        const named = { name: "prices-2", kind: "prices", ...prices };
        const priced = await admin(booted, "POST", "/announcements", named);
        t.equal(priced.body["recipients"], 2);
        const [declined] = (await again.mailsTo(none.email, 2)).filter(
          ({ subject }) => subject === "Bảng giá",
        );
        t.match(declined?.text, /^Mới\./);
        await english.post("/messages", { off: [] });

        const [mail] = again.mails.filter(({ subject }) => subject === "New prices");
        t.match(mail?.text, /page of your account:\n\S+\/dashboard\/account$/m);
        const { unsubscribe } = objectOf(mail?.headers.get("list")) ?? {};
        const { url } = objectOf(unsubscribe) ?? {};
        const asked = (method: string, at = String(url)) =>
          fetch(at, { method, redirect: "manual" });
        // A program that looks at links switches nothing off.
        t.equal((await asked("GET")).status, 303);
        t.strictSame((await english.get("/messages")).body.off, []);
        t.equal((await asked("POST", String(url).replace(/.$/, "-"))).status, 404);
        for (let twice = 0; twice < 2; twice++) t.equal((await asked("POST")).status, 200);
        t.strictSame((await english.get("/messages")).body.off, ["announcement"]);
        const bad = await admin(booted, "POST", "/announcements", {
          ...texts,
          name: "x",
          en: "one line",
        });
        t.match(JSON.stringify(bad.body), /en: expected a subject on the first line/);
      },
    );
  });
});

t.test("a mail server that refuses the gateway, or one customer", async (t) => {
  const user = "shop";
  const first = await startMailServer({ user, password: "right" });
  const { port } = first;
  const smtp = { host: "127.0.0.1", port, user, password: "right", from: MAIL_FROM };
  const booted = await bootInProcess(1, { smtp });
  const { email } = await signedUp(booted, first);
  await first.stop();
  let mailServer = await startMailServer({ user, password: "other" }, port);
  t.teardown(async () => {
    await booted.close();
    await mailServer.stop();
  });
  const { services } = booted.gateway;
  const transport = printingTransport();
  const channels = new Channels(undefined, transport);
  // It reads the same rows.
  const counts = { sent: 0, refused: 0, channel: 0, failed: 0 };
  const outbox = new Outbox({
    services,
    transport,
    channels,
    secretMails: { counts, failingSince: undefined },
  });
  const [{ id: accountId } = { id: "" }] = await services.database.query<{ id: string }>(
    "select id from accounts",
  );
  const text = { subject: "News", paragraphs: ["Of the shop."] };
  const write = (cause: string) => {
    const message = { accountId, cause, kind: "statement", texts: { vi: text, en: text } };
    return services.messages.current.post(message);
  };
  const failsWith = (code: string) =>
    until(`a mail fails with ${code}`, async () => {
      return (await messages(booted)).some(({ failure }) => failure === code);
    });

  t.test("by a wrong password or its sender: no mail is given up", async (t) => {
    await write("first");
    await failsWith("535");
    t.strictSame(await messages(booted, "failed"), []);
    booted.pass(20 * MINUTE_MS);
    t.ok((await outbox.state()).lateSeconds >= 1_200, "an operator learns of it");
    // A mail that has no verified address is not sent, and is no sign that the server takes mails.
    const { accountId: imported } = await createCustomer(booted);
    const texts = { vi: text, en: text };
    const credited = { accountId: imported, cause: "credited", kind: "top-up", texts };
    await services.messages.current.post(credited);
    await until("nothing waits for it", async () => {
      return (await messages(booted, `waiting&account=${imported}`)).length === 0;
    });
    t.strictSame(await messages(booted, `sent&account=${imported}`), []);
    t.ok((await outbox.state()).lateSeconds >= 1_200, "and still does");
    await mailServer.stop();
    mailServer = await startMailServer({ user, password: "right" }, port);
    mailServer.senderRefusals.push(550);
    booted.pass(20 * MINUTE_MS);
    await failsWith("550");
    t.strictSame(await messages(booted, "failed"), []);
    booted.pass(60 * MINUTE_MS);
    await mailServer.mailTo(email, /News/);
    await until("nothing waits", async () => (await messages(booted)).length === 0);
    t.match(await outbox.state(), { givenUp: 0, newestGivenUp: null, lateSeconds: 0 });
    const kept = "select sent_at from messages where cause = 'credited'";
    t.equal((await services.database.query(kept)).length, 1, "it is written once");
  });

  t.test("by a recipient that it takes later: no mail is late", async (t) => {
    mailServer.refusals.push(450);
    await write("greylisted");
    await failsWith("450 recipient");
    t.equal((await outbox.state()).lateSeconds, 0);
    booted.pass(20 * MINUTE_MS);
    await mailServer.mailTo(email, /News/, 2);
    await until("nothing waits", async () => (await messages(booted)).length === 0);
  });

  t.test("given-up mails are sent again, or deleted, all at once", async (t) => {
    const giveUp = async (...causes: string[]) => {
      for (const cause of causes) {
        mailServer.refusals.push(550);
        await write(cause);
      }
      const isGivenUp = async () => (await messages(booted, "failed")).length === causes.length;
      await until("they are given up", isGivenUp);
    };
    await giveUp("a", "b");
    const { newestGivenUp } = await outbox.state();
    t.ok(newestGivenUp && booted.now() - Number(newestGivenUp) < MINUTE_MS);
    const post = (path: string) => admin(booted, "POST", `/messages/${path}`, {});
    t.match((await post("retry-all")).body, { messages: 2 });
    await mailServer.mailTo(email, /News/, 4);
    await giveUp("c");
    const [failed] = await messages(booted, "failed");
    t.equal((await post(`${failed?.["id"]}/drop`)).status, 200);
    t.equal((await post(`${failed?.["id"]}/drop`)).status, 404);
    await giveUp("d");
    t.match((await post("drop-all")).body, { messages: 1 });
    await giveUp("e");
    booted.pass(91 * 24 * 60 * MINUTE_MS);
    await outbox.sweep();
    t.strictSame(await messages(booted, "failed"), []);
  });
});

t.test("a mail server that takes no mails with a link, while the outbox has none", async (t) => {
  const booted = await bootInProcess();
  t.teardown(() => booted.close());
  const { services } = booted.gateway;
  let failure: object | undefined = { code: "EAUTH", responseCode: 535 };
  const transport = {
    send: async () => {
      if (failure) throw Object.assign(new Error("no mail"), failure);
    },
    close() {},
  };
  const secretMails = new SecretMails(transport, services);
  t.teardown(() => secretMails.stop());
  const channels = new Channels(undefined, transport);
  const outbox = new Outbox({ services, transport, channels, secretMails });
  const lateSeconds = async () => (await outbox.state()).lateSeconds;
  const text = { subject: "Verify", paragraphs: ["By this link."] };
  const mail = { to: "an@tollgate.test", kind: "verify", texts: { vi: text, en: text } };
  const ask = async () => {
    secretMails.take(async () => ({ ...mail, language: "vi" }));
    await setImmediate();
  };

  t.equal(await lateSeconds(), 0);
  await ask();
  booted.pass(20 * MINUTE_MS);
  await ask();
  t.ok((await lateSeconds()) >= 1_200, "since the first");
  failure = undefined;
  await ask();
  t.equal(await lateSeconds(), 0);

  // A refused recipient is no fault of the server.
  const unknown = { command: "RCPT TO", responseCode: 550, response: "550 No such user" };
  failure = { code: "EENVELOPE", ...unknown };
  await ask();
  booted.pass(20 * MINUTE_MS);
  t.equal(await lateSeconds(), 0);

  // Nor is a mailbox that is full, or a greylist.
  const later = { command: "RCPT TO", responseCode: 450, response: "450 4.2.0 Greylisted" };
  failure = { code: "EENVELOPE", ...later };
  await ask();
  booted.pass(20 * MINUTE_MS);
  t.equal(await lateSeconds(), 0);
  failure = { code: "EENVELOPE", ...later, command: "MAIL FROM" };
  await ask();
  booted.pass(20 * MINUTE_MS);
  t.ok((await lateSeconds()) >= 1_200);
  booted.pass(60 * MINUTE_MS);
  t.equal(await lateSeconds(), 0, "if none was sent for an hour");
  await ask();
  t.ok((await lateSeconds()) < 60, "and not since the failure of then");

  // Any gateway's mail shows that the server takes them.
  failure = { code: "ECONNREFUSED" };
  await ask();
  booted.pass(20 * MINUTE_MS);
  t.ok((await lateSeconds()) >= 1_200);
  const { accountId } = await createCustomer(booted);
  const post = { accountId, cause: "one", kind: "new-browser", texts: mail.texts };
  await services.messages.current.post(post);
  await until("it is sent", async () => (await messages(booted, "sent")).length === 1);
  t.equal(await lateSeconds(), 0);
});

t.test("messages of one outbox", async (t) => {
  const booted = await bootInProcess(1, { smtp: undefined });
  t.teardown(() => booted.close());
  const { services } = booted.gateway;
  const text = { subject: "News", paragraphs: ["Of the shop."] };
  const texts = { vi: text, en: text };
  const { accountId } = await createCustomer(booted);
  const counts = { sent: 0, refused: 0, channel: 0, failed: 0 };
  let hooked = 0;
  const hook = await startLocalServer((_request, response) => {
    hooked++;
    response.end();
  });
  t.teardown(() => hook.stop());
  const webhook = { url: hook.url, secret: "a secret of the webhook", allow_private: true };
  const outboxWith = (send: Transport["send"]) => {
    const transport = { send, close() {} };
    const mail = ["ops@tollgate.test"];
    const options = { language: "en" as const, mail, webhook, remind_hours: 24 };
    const channels = new Channels(options, transport);
    return new Outbox({
      services,
      transport,
      channels,
      secretMails: { counts, failingSince: undefined },
    });
  };
  const write = async (cause: string, kind: string) => {
    await outboxWith(async () => {}).post({ accountId, cause, kind, texts });
  };
  const notice = (cause: string) => ({ cause, kind: "trouble", about: "books", texts });

  t.test("those for operators go first, then those of security", async (t) => {
    const outbox = outboxWith(async () => {});
    for (let at = 0; at < 25; at++) await write(`statement ${at}`, "statement");
    await write("new-browser", "new-browser");
    await outbox.postTo("ops@tollgate.test", notice("drift"));
    outbox.start();
    await outbox.stop();
    const waiting = await services.database.query<{ kind: string }>(
      "select kind from messages where sent_at is null",
    );
    t.strictSame(
      waiting.map(({ kind }) => kind),
      Array.from({ length: 7 }, () => "statement"),
    );
  });

  t.test("one waits while no plugin knows its customer: its gateway stops", async (t) => {
    const transport = { send: async () => {}, close() {} };
    const channels = new Channels(undefined, transport);
    const secretMails = { counts, failingSince: undefined };
    const left = { ...services.customers.current, publicUrl: undefined };
    const customers = {
      ...services.customers,
      current: { ...left, recipient: async () => undefined },
    };
    const parts = { transport, channels, secretMails };
    const outbox = new Outbox({ services: { ...services, customers }, ...parts });
    await write("early", "new-browser");
    outbox.start();
    await outbox.stop();
    const early = await services.database.query(
      "select attempts, sent_at, failed_at, failure from messages where cause = 'early'",
    );
    const failure = "no plugin signs customers in";
    t.strictSame(early, [{ attempts: 1, sent_at: null, failed_at: null, failure }]);
    await services.database.query("delete from messages where cause = 'early'");
  });

  t.test("a mail server that does not reply holds up no stop, and no other channel", async (t) => {
    let isAsked = false;
    const outbox = outboxWith(() => {
      isAsked = true;
      return new Promise(() => {});
    });
    await write("stuck", "new-browser");
    outbox.start();
    await until("a mail is sent", () => isAsked);
    await outbox.postTo("webhook", notice("holds"));
    await until("the webhook is", () => hooked === 1);
    const beganMs = performance.now();
    await outbox.stop();
    t.ok(performance.now() - beganMs < 10_000);
  });

  t.test(
    "those that an operator's server refuses are counted apart from customers' mails",
    async (t) => {
      const rejected = {
        code: "EENVELOPE",
        command: "RCPT TO",
        responseCode: 550,
        response: "550",
      };
      const outbox = outboxWith(() =>
        Promise.reject(Object.assign(new Error("refused"), rejected)),
      );
      await write("refused", "new-browser");
      await outbox.postTo("ops@tollgate.test", notice("quarantine"));
      const before = { ...counts };
      outbox.start();
      await outbox.stop();
      t.strictSame(counts, { ...before, refused: before.refused + 1, channel: before.channel + 1 });
      t.match(await outbox.state(), { givenUp: 1 });
      t.strictSame(await outbox.deadChannels(), [{ channel: "ops@tollgate.test", failure: "550" }]);
    },
  );
});
