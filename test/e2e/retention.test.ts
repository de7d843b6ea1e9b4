import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import { type Customer, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { withLedger } from "../support/ledger-sql.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { noCallsInFlight } from "../support/proof.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { asking, bodies, openStream, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";
import {
  tracesInFiles,
  tracesInRedis,
  tracesInTables,
  withPostgres,
  writings,
} from "./stored-traces.ts";

/**
 * Texts of customers and models. Each has its own place, so that a trace shows where it comes from.
 */
const MARKS = {
  prompt: "Xylophagous",
  system: "Quixotically",
  reply: "Zugzwangerous",
  thinking: "Brobdingnag",
  argument: "Wherewithalist",
  result: "Sesquipedalian",
  tool: "Kakorrhaphio",
  image: "Mellifluously",
  speech: "Borborygmus",
  error: "Floccinaucini",
  broken: "Honorificabil",
  form: "Pneumonoultra",
  count: "Antidisestab",
  user: "Tergiversator",
} as const;
const TEXTS = Object.values(MARKS).flatMap(writings);

/** An image that contains a text, like a photo of a letter. */
const markedPng = Buffer.concat([makePng(4, 4, 0xff0000), Buffer.from(MARKS.image)]);
const dataUrl = `data:image/png;base64,${markedPng.toString("base64")}`;

/** Calls of every kind, good and bad, with marks wherever content is allowed. */
async function say(gateway: TestGateway, caller: Customer): Promise<void> {
  const { messages, chat, responses, images, speech } = bodies;
  const text = (directive: object) => asking(directive, MARKS.prompt);
  const turn = (directive: object) => ({ messages: [{ role: "user", content: text(directive) }] });
  const marked = { system: MARKS.system, metadata: { user_id: MARKS.user } };
  const tools = [{ name: "look", arguments: { place: MARKS.argument } }];
  const said = { text: MARKS.reply, thinking: MARKS.thinking };
  const declared = [{ name: "look", description: MARKS.tool, input_schema: { type: "object" } }];
  const raw = { status: 400, body: `cannot answer "${MARKS.error}"`, content_type: "text/html" };
  const failing = { status: 400, error: { type: "invalid_request_error", message: MARKS.error } };
  const broken = { status: 500, error: { type: "api_error", message: MARKS.error } };
  const midway = { error_after_events: 3, error: { type: "api_error", message: MARKS.error } };
  const result = { type: "tool_result", tool_use_id: "t1", content: MARKS.result };
  const toolUse = { type: "tool_use", id: "t1", name: "look", input: { place: MARKS.argument } };
  const history = [
    { role: "user", content: MARKS.prompt },
    { role: "assistant", content: [toolUse] },
    { role: "user", content: [result, { type: "text", text: text(said) }] },
  ];
  const picture = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: markedPng.toString("base64") },
  };
  const pictured = { role: "user", content: [picture, { type: "text", text: text(said) }] };
  const chatPicture = {
    role: "user",
    content: [
      { type: "image_url", image_url: { url: dataUrl } },
      { type: "text", text: text(said) },
    ],
  };
  const calls: [string, unknown, number[]][] = [
    [paths.messages, messages({}, { ...turn(said), ...marked }), [200]],
    [paths.messages, messages({}, { ...turn(said), ...marked, stream: true }), [200]],
    [paths.messages, messages({}, { ...turn({ tools }), tools: declared }), [200]],
    [paths.messages, messages({}, { messages: history, tools: declared }), [200]],
    [paths.messages, messages({}, { messages: [pictured] }), [200]],
    [paths.messages, messages({}, { ...turn(said), model: "gpt-4.1-nano", ...marked }), [200]],
    [paths.messages, messages({}, { ...turn({ usage: "missing", ...said }) }), [200]],
    [paths.chat, chat({}, { ...turn(said), user: MARKS.user }), [200]],
    [paths.chat, chat({}, { ...turn(said), stream: true }), [200]],
    [paths.chat, chat({}, { messages: [chatPicture] }), [200]],
    [paths.chat, chat({}, { ...turn(said), model: "claude-opus-5-5", stream: true }), [200]],
    [paths.responses, responses({}, { input: text(said), instructions: MARKS.system }), [200]],
    [paths.responses, responses({}, { input: text(said), stream: true }), [200]],
    [paths.images, images({}, { prompt: text({}) }), [200]],
    [paths.edits, images({}, { prompt: text({}), image: dataUrl }), [200]],
    [paths.speech, speech({}, { input: asking({}, MARKS.speech) }), [200]],
    ["/v1/messages/count_tokens", messages({}, { ...turn({}), system: MARKS.count }), [200]],
    ["/v1/messages/count_tokens", `{"messages":"${MARKS.broken}`, [400]],
    [paths.messages, messages({}, turn(raw)), [400]],
    [paths.messages, messages({}, turn(failing)), [400]],
    [paths.messages, messages({}, turn(broken)), [502]],
    [paths.messages, messages({}, { ...turn({ ...midway, ...said }), stream: true }), [200]],
    [paths.chat, chat({}, turn(failing)), [400]],
    [paths.chat, chat({}, { ...turn({ ...midway, ...said }), stream: true }), [200]],
    [paths.chat, chat({}, turn({ reset: true })), [502]],
    [paths.messages, `{"model":"claude-opus-5-5","messages":[{"content":"${MARKS.broken}`, [400]],
    [paths.messages, JSON.stringify(MARKS.broken), [400]],
    [paths.messages, { model: "claude-opus-5-5", max_tokens: MARKS.broken, messages: [] }, [400]],
    [paths.chat, { model: "gpt-4.1-nano", messages: MARKS.broken }, [400]],
    [paths.chat, { model: { [MARKS.broken]: 1 }, messages: [] }, [400]],
    [
      paths.chat,
      chat({}, { messages: [{ role: MARKS.broken, content: [{ type: MARKS.broken }] }] }),
      [200, 400],
    ],
    [
      paths.messages,
      messages(
        {},
        {
          messages: [
            {
              role: "user",
              content: [
                {
                  type: "document",
                  source: { type: "text", media_type: "text/plain", data: MARKS.broken },
                },
              ],
            },
          ],
          model: "gpt-4.1-nano",
        },
      ),
      [200, 400],
    ],
    [paths.speech, speech({}, { input: asking(raw, MARKS.speech) }), [400]],
    [paths.images, images({}, { prompt: text(raw) }), [400]],
  ];
  for (const [path, body, statuses] of calls) {
    const { status, text: answer } = await post(gateway, path, caller, body);
    assert.ok(statuses.includes(status), `${path} ${status} ${JSON.stringify(body)} ${answer}`);
  }
  const form = new FormData();
  form.set("model", "req/gpt-image-2");
  form.set("prompt", MARKS.form);
  form.set("image", new Blob([markedPng], { type: "image/png" }), `${MARKS.form}.png`);
  const edited = await fetch(gateway.url + paths.edits, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.key}` },
    body: form,
  });
  await edited.arrayBuffer();
  assert.equal(edited.status, 200);
}

/** A call whose client disconnects in the middle of the reply. */
async function leave(gateway: TestGateway, caller: Customer): Promise<void> {
  const slow = asking({ text: `${MARKS.reply} `.repeat(50), event_delay_ms: 50 }, MARKS.prompt);
  const stream = await openStream(gateway, paths.messages, caller, {
    ...bodies.messages({}, { messages: [{ role: "user", content: slow }] }),
    stream: true,
  });
  await stream.until((text) => text.includes("content_block_delta"));
  stream.leave();
  await noCallsInFlight(gateway);
}

const AT_THE_MOST = { config: { log: { level: "trace" } } };

t.test("the content of calls", async (t) => {
  t.test("is found by the searches in every encoding", async (t) => {
    for (const mark of Object.values(MARKS)) {
      for (const before of ["", "a", "ab", "abc"]) {
        const text = `${before}${mark} and more`;
        for (const encoding of ["utf8", "hex", "base64"] as const) {
          const kept = Buffer.from(text).toString(encoding);
          t.ok(
            writings(mark).some((writing) => kept.includes(writing)),
            `${encoding} ${mark}`,
          );
        }
      }
    }
  });

  t.test("in embedded stores", async (t) => {
    let gateway: TestGateway;
    let caller: Customer;
    t.before(async () => {
      gateway = await startGateway({ ...AT_THE_MOST, ledger: "embedded" });
      caller = await createCustomer(gateway, { creditVnd: 1_000_000 });
    });
    t.teardown(() => gateway.close());

    t.test("is in no file, log or table, before and after it is committed", async (t) => {
      const nothing = (where: string) => {
        const secrets = [...TEXTS, caller.key];
        t.strictSame(tracesInFiles(gateway.folder, secrets), [], where);
      };
      await say(gateway, caller);
      await leave(gateway, caller);
      const { text, headers } = await post(gateway, paths.messages, caller, bodies.messages());
      const id = headers.get("x-request-id") ?? text;
      // After a crash, uncommitted data is still in the files.
      await gateway.kill9();
      nothing("after a crash");
      t.ok(tracesInFiles(gateway.folder, [id]).length > 0, "the log has the id");
      await gateway.start();
      await until("everything is committed", async () => {
        const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
        return /^tollgate_outbox_backlog 0$/m.test(metrics);
      });
      const tables = await withLedger(gateway, async (sql) => {
        t.ok((await tracesInTables(sql, [id])).length > 0, "the usage record has the id");
        return tracesInTables(sql, [...TEXTS, caller.key]);
      });
      t.strictSame(tables, []);
      await gateway.stop();
      nothing("after a stop");
      // Proves that the search finds a file with a prompt.
      writeFileSync(join(gateway.data, "leak"), `x${MARKS.prompt}`);
      t.equal(tracesInFiles(gateway.folder, TEXTS).length, 1);
    });
  });

  t.test("in Redis and Postgres", async (t) => {
    let postgres: PostgresServer;
    let redis: RedisServer;
    let gateway: TestGateway;
    let caller: Customer;
    t.before(async () => {
      postgres = await startPostgresServer();
      redis = await startRedisServer();
      gateway = await startGateway({
        config: { ...AT_THE_MOST.config, stores: { hot: redis.url, ledger: postgres.url } },
      });
      caller = await createCustomer(gateway, { creditVnd: 1_000_000 });
    });
    t.teardown(async () => {
      await gateway?.close();
      await redis?.stop();
      await postgres?.stop();
    });

    const nowhere = async (where: string) => {
      const secrets = [...TEXTS, caller.key];
      assert.deepEqual(tracesInFiles(gateway.folder, secrets), [], where);
      assert.deepEqual(await tracesInRedis(redis, secrets), [], where);
    };

    t.test("is in no key of Redis, no file, log or table", async (t) => {
      await post(gateway, paths.messages, caller, bodies.messages());
      // While Postgres is down, uncommitted calls stay in Redis.
      await postgres.kill();
      await say(gateway, caller);
      await leave(gateway, caller);
      const { headers } = await post(gateway, paths.messages, caller, bodies.messages());
      const id = headers.get("x-request-id") ?? "";
      t.ok((await tracesInRedis(redis, [id])).length > 0, "Redis has the uncommitted call");
      await nowhere("while Postgres is down");
      await postgres.restart();
      await until("the call is recorded", () =>
        withPostgres(
          postgres.url,
          async (sql) => (await tracesInTables(sql, [id])).length > 0,
        ).catch(() => false),
      );
      await nowhere("afterwards");
      const secrets = [...TEXTS, caller.key];
      const tables = await withPostgres(postgres.url, (sql) => tracesInTables(sql, secrets));
      t.strictSame(tables, []);
    });

    t.test("is not on disk while Redis is down", async (t) => {
      const slow = asking({ text: `${MARKS.reply} `.repeat(20), event_delay_ms: 20 }, MARKS.prompt);
      const stream = await openStream(gateway, paths.messages, caller, {
        ...bodies.messages({}, { messages: [{ role: "user", content: slow }] }),
        stream: true,
      });
      await stream.until((text) => text.includes("content_block_delta"));
      await redis.kill();
      t.match(await stream.rest(), /message_stop/);
      t.ok(tracesInFiles(join(gateway.data, "spool"), [caller.accountId]).length > 0);
      t.strictSame(tracesInFiles(gateway.folder, [...TEXTS, caller.key]), []);
      await redis.start();
    });
  });
});
