import assert from "node:assert/strict";
import t from "tap";
import { MESSAGES_MODEL, CHAT_MODEL as RESPONSES_MODEL } from "../support/ask.ts";
import { customerWith } from "../support/billed.ts";
import type { TestGateway } from "../support/gateway.ts";
import { noCallsInFlight, spent } from "../support/proof.ts";
import { asking, deliveredText, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let gateway: TestGateway;

t.before(async () => {
  gateway = await sharedGateway();
});

const LONG = 'dài “quoted” \\"and\\" \\n so on '.repeat(2_000);
const PROMPT = JSON.stringify(asking({ echo: "raw" }));

/** JSON that a parser would write in another way: spaces, numbers, escapes. */
const TURNS = `[ {"role":"user","content":"${LONG}"} ,
  {"role":"assistant","content":"ok"},
  {"content":${PROMPT},"r\\u006fle":"user"} ]`;
const SCHEMA = `{"type":"object" ,"properties":{"a":{"type":"number","default":12345678901234567890,
  "enum":[1.0, -0, 1e400, 1E-7] }}}`;
/** A model whose profile adds a field. */
const CHAT_MODEL = "MiniMax-M3";
const CHAT_TOOLS = `"tools": [ {"type":"function","function":{"name":"f","parameters":${SCHEMA}}}]`;
const TOOLS = `"tools": [ {"name":"f","description":"\\/\\ud83d","input_schema":${SCHEMA}}]`;

/** Sends a body, and returns what the provider got: the text of the reply is the raw body. */
async function sent(path: string, body: string): Promise<string> {
  const customer = await customerWith(gateway, 10_000_000);
  const { status, json, text } = await post(gateway, path, customer, body);
  assert.equal(status, 200, text.slice(0, 300));
  await noCallsInFlight(gateway);
  assert.ok((await spent(gateway, customer.accountId, 10_000_000)) > 0n);
  const item = json.output?.find((one: { type: string }) => one.type === "message") ?? json;
  return json.choices?.[0].message.content ?? item.content[0].text;
}

t.test("a call in the model's own protocol leaves as the bytes that came", async (t) => {
  t.test("on Chat, but for the model's name and an edit of its profile", async (t) => {
    const body = (model: string, more: string) =>
      `\n{"mod\\u0065l" : ${model}, "messages":${TURNS} ,${CHAT_TOOLS}${more} }\t`;
    const got = await sent(paths.chat, body(JSON.stringify(CHAT_MODEL), ""));
    const [, model = ""] = /"mod\\u0065l" : ("[^"]*")/.exec(got) ?? [];
    t.equal(got, body(model, ',"reasoning_split":true'));
  });

  t.test("on Messages, but for the model's name", async (t) => {
    const body = (model: string) =>
      `{"max_tokens":4096.0,"messages":${TURNS},\r\n"model":${model},${TOOLS} }`;
    const got = await sent(paths.messages, body(JSON.stringify(MESSAGES_MODEL)));
    const [, model = ""] = /"model":("[^"]*"),"tools/.exec(got) ?? [];
    t.equal(got, body(model));
  });

  t.test("on Responses, but for the state that is not kept, and hosted tools", async (t) => {
    const own = `{"type":"function","name":"f","description":"${LONG}","parameters":{}}`;
    const body = `{"input":${TURNS} ,"tools":[ {"type":"web_search"}, ${own} ],"model":"${RESPONSES_MODEL}"}`;
    const got = await sent(paths.responses, body);
    const parsed = JSON.parse(got);
    t.strictSame(parsed.tools, [JSON.parse(own)]);
    t.equal(parsed.store, false);
    t.strictSame(parsed.include, ["reasoning.encrypted_content"]);
    t.ok(got.startsWith(`{"input":${TURNS} ,"tools":[{`), "the conversation is not written again");
    const [end = ""] = /,"model":.*/.exec(got.slice(-300)) ?? [];
    t.match(end, /,"model":"[^"]*".*,"store":false/);
  });

  t.test("streamed, with an edit of the profile and the request for usage", async (t) => {
    const customer = await customerWith(gateway, 10_000_000);
    const body = `{"model":"${CHAT_MODEL}", "stream":true, "messages":${TURNS}, ${CHAT_TOOLS}}`;
    const { status, text } = await post(gateway, paths.chat, customer, body);
    t.equal(status, 200);
    const got = deliveredText(text);
    const added = ',"reasoning_split":true,"stream_options":{"include_usage":true}}';
    t.ok(got.endsWith(CHAT_TOOLS + added), got.slice(-200));
    t.ok(got.includes(`"messages":${TURNS}, `));
  });
});

t.test(
  "of a name that comes twice inside of a field, only the value that was read leaves",
  async (t) => {
    const turns = `[{"role":"user","content":"${LONG}","c\\u006fntent":${PROMPT}}]`;
    const body = `{"model":"${CHAT_MODEL}","messages":${turns}}`;
    const got = await sent(paths.chat, body);
    t.strictSame(JSON.parse(got).messages, JSON.parse(turns));
    t.notMatch(got, /dài/);
  },
);

t.test("a name that comes twice at the top is refused", async (t) => {
  const customer = await customerWith(gateway, 1_000);
  for (const twice of [
    `"model":"x"`,
    `"mod\\u0065l":"x"`,
    `"n":1,"n":1`,
    `"__proto__":1,"__proto__":1`,
  ]) {
    const body = `{"model":"${CHAT_MODEL}","messages":[{"role":"user","content":"hi"}],${twice}}`;
    const { status, json } = await post(gateway, paths.chat, customer, body);
    t.equal(status, 400, twice);
    t.match(json.error.message, /^\w+: sent twice; send each field once$/);
  }
});
