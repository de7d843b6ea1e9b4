import t from "tap";
import { objectOf } from "../../../core/process/json.ts";
import { Channels } from "../../../plugins/messages/channels.ts";
import { LedgerOutage } from "../../../plugins/messages/ledger-outage.ts";
import { Outbox } from "../../../plugins/messages/outbox.ts";
import { Watch } from "../../../plugins/messages/watch.ts";
import { admin } from "../../support/admin.ts";
import { startLocalServer } from "../../support/local-server.ts";
import { until } from "../../support/until.ts";
import { bootInProcess } from "../accounts/in-process.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const OPERATOR = "operator@tollgate.test";

t.test("what needs a person", async (t) => {
  const got: Record<string, unknown>[] = [];
  const hook = await startLocalServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    got.push(objectOf(JSON.parse(body)) ?? {});
    response.end();
  });
  const webhook = { url: hook.url, secret: "a secret of the webhook", allow_private: true };
  const world = await bootInProcess(1, {
    operators: {
      ...{ language: "en", mail: [OPERATOR], webhook },
      console_url: "https://console.test",
    },
  });
  t.teardown(async () => {
    await world.close();
    await hook.stop();
  });
  const { services } = world.gateway;
  const { database } = services;
  // The ledger of a test has no backup: the next day this would be a trouble too.
  const age = services.gauges.all.find(({ name }) => name === "tollgate_backup_age_seconds");
  Object.assign(age ?? {}, { value: () => 0 });
  const kinds = () => got.map(({ kind }) => kind);
  const isSeen = async () => (await database.query("select from message_troubles")).length > 0;
  const looks = async () => {
    const [before] = await database.query<{ seen: Date }>(
      "select seen_at as seen from message_troubles",
    );
    await until("a look has seen it", async () => {
      const [now] = await database.query<{ seen: Date }>(
        "select seen_at as seen from message_troubles",
      );
      return Number(now?.seen) > Number(before?.seen);
    });
  };

  t.test("is written when it lasts, again the next day, and when it is over", async (t) => {
    let unmatched = 0;
    const name = "tollgate_unmatched_transfers";
    const [gauge] = services.gauges.all.filter((one) => one.name === name);
    let newest = new Date(services.clock.now());
    Object.assign(gauge ?? {}, { value: () => unmatched, newest: () => newest });
    unmatched = 2;
    await until("it is seen", isSeen);
    t.strictSame(got, [], "not at once");
    world.pass(MINUTE_MS);
    await until("it is written", () => got.length > 0);
    const [first] = got;
    t.match(first, { kind: "trouble", about: name });
    t.equal(first?.["subject"], "To do: 2 bank transfers have no clear owner");
    t.match(first?.["text"], /It began at 20\d\d-\d\d-\d\d \d\d:\d\d \(Vietnam time\)\./);
    t.match(first?.["text"], /https:\/\/console\.test\/console\/money\?state=unmatched$/);
    await world.mailServer.mailTo(OPERATOR, /To do: 2 bank transfers/);
    await looks();
    t.strictSame(kinds(), ["trouble"], "once");
    newest = new Date(services.clock.now());
    unmatched = 1;
    await looks();
    world.pass(5 * MINUTE_MS);
    await until("another one is written", () => got.length > 1);
    t.match(got[1], { kind: "trouble", subject: "To do: 1 bank transfers have no clear owner" });
    unmatched = 2;
    await looks();
    t.equal(got.splice(1).length, 1, "once");
    world.pass(DAY_MS);
    await until("it is written again", () => got.length > 1);
    t.match(got[1], { kind: "trouble-again", about: name });
    unmatched = 0;
    world.pass(4 * MINUTE_MS);
    await until("its end is written", () => got.length > 2);
    t.match(got[2], { kind: "trouble-over", about: name });
    t.notOk(await isSeen());
    unmatched = 1;
    await until("it is seen", isSeen);
    unmatched = 0;
    world.pass(4 * MINUTE_MS);
    await until("it is gone", async () => !(await isSeen()));
    t.equal(got.length, 3, "one that is over soon is not written");
    const mails = await world.mailServer.mailsTo(OPERATOR, 4);
    t.equal(mails.length, 4);
  });

  t.test("a trial goes to each channel", async (t) => {
    const { status, body } = await admin(world, "POST", "/messages/test", {});
    t.equal(status, 200);
    t.strictSame(body["list"], [
      { channel: OPERATOR, sent: true, failure: null },
      { channel: "webhook", sent: true, failure: null },
    ]);
  });
});

t.test("with channels of its own", async (t) => {
  const world = await bootInProcess(1, { smtp: undefined });
  const hook = await startLocalServer((_request, response) => {
    response.writeHead(404).end();
  });
  t.teardown(async () => {
    await world.close();
    await hook.stop();
  });
  const { services } = world.gateway;
  for (const gauge of services.gauges.all) Object.assign(gauge, { value: () => 0 });
  const subjects: string[] = [];
  const transport = {
    async send(_to: string, { subject }: { subject: string }) {
      subjects.push(subject.split(" / ")[0] ?? "");
    },
    close() {},
  };
  const webhook = { url: hook.url, secret: "a secret of the webhook", allow_private: true };
  const options = { language: "en" as const, mail: [OPERATOR], webhook, remind_hours: 24 };
  const channels = new Channels(options, transport);
  const parts = {
    services,
    transport,
    channels,
    secretMails: {
      counts: { sent: 0, refused: 0, channel: 0, failed: 0 },
      failingSince: undefined,
    },
  };
  const outbox = new Outbox(parts);
  const watched = { outbox, channels, consoleUrl: "https://console.test" };
  const once = async (task: { start(): void; stop(): Promise<void> }) => {
    task.start();
    await task.stop();
  };
  const look = async () => {
    await once(new Watch({ services, ...watched, remindHours: 24 }));
    await once(new Outbox(parts));
  };

  t.test("the ledger's outage is written straight to them, and its end", async (t) => {
    const { query } = services.database;
    const watch = new Watch({ services, ...watched, remindHours: 24 });
    t.teardown(() => {
      services.database.query = query;
      return watch.stop();
    });
    let failures = 0;
    services.database.query = () => {
      failures++;
      return Promise.reject(new Error("connection refused"));
    };
    watch.start();
    await until("a look has failed", () => failures > 0);
    t.strictSame(subjects, [], "not at once");
    world.pass(MINUTE_MS);
    await until("it is written", () => subjects.length > 0);
    const before = failures;
    await until("later looks fail too", () => failures > before + 1);
    services.database.query = query;
    await until("its end is written", () => subjects.length > 1);
    const what = "The ledger takes nothing: Postgres is down or refuses, and served calls wait";
    t.strictSame(subjects.splice(0), [`To do: ${what}`, `Over: ${what}`]);
  });

  t.test("the first worker that lives writes of the ledger's outage, no other", async (t) => {
    const written = async (worker: number, dead: readonly number[]) => {
      const all = [0, 1, 2].map((each) => {
        return { worker: each, report: true, isOld: dead.includes(each) };
      });
      const sent: string[] = [];
      const workers = { report() {}, ask: async () => ({ worker, all }) };
      const channels = { names: ["a"], send: async (name: string) => void sent.push(name) };
      const given = { ...watched, services: { clock: services.clock, workers }, log: services.log };
      const outage = new LedgerOutage({ ...given, channels } as unknown as ConstructorParameters<
        typeof LedgerOutage
      >[0]);
      await outage.fails();
      world.pass(MINUTE_MS);
      await outage.fails();
      return sent;
    };
    t.strictSame(await written(0, []), ["a"]);
    t.strictSame(await written(1, []), []);
    t.strictSame(await written(1, [0]), ["a"]);
    t.strictSame(await written(2, [0]), []);
  });

  t.test(
    "one that is broken for good is one message to the others, not one for each message",
    async (t) => {
      let state = await outbox.state();
      const gauge = (name: string) => services.gauges.all.find((one) => one.name === name) ?? {};
      Object.assign(gauge("tollgate_messages_given_up"), {
        value: () => state.givenUp,
        newest: () => state.newestGivenUp ?? undefined,
      });
      Object.assign(gauge("tollgate_unmatched_transfers"), { value: () => 1 });
      for (let minutes = 0; minutes <= 60; minutes += 5) {
        await look();
        world.pass(5 * MINUTE_MS);
        state = await outbox.state();
      }
      t.strictSame(subjects, [
        "To do: 1 bank transfers have no clear owner",
        "To do: The channel webhook takes no message (404): message retry-all once it is mended",
      ]);
    },
  );
});
