import t from "tap";
import { objectOf } from "../../../core/process/json.ts";
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
