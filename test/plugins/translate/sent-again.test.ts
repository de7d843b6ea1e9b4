import t from "tap";
import { RequestBody } from "../../../core/body/request-body.ts";
import type { Protocol } from "../../../core/plugin/index.ts";
import { Translation } from "../../../plugins/translate/translation.ts";

const REFUSED_STATE = '{"error":{"code":"invalid_encrypted_content"}}';
const MB = 1_048_576;
const ROUTE = { upstream: "u", model: "m", priority: 0, weight: 1 } as never;

/** A request that a thread has written, of this many bytes. */
function written(to: Protocol, size: number): Translation {
  const input = [
    { type: "reasoning", encrypted_content: "x" },
    { role: "user", content: "Hi" },
  ];
  const json = JSON.stringify({ input }).padEnd(size);
  const places = [1, 7, 9, json.indexOf("}]") + 2];
  const facts = {
    unread: { input: 2 },
    keepsNumbers: false,
    measured: undefined,
    turns: undefined,
  };
  const body = RequestBody.from({ bytes: Buffer.from(json), places, fields: {}, ...facts });
  const made = { ok: true, body, dropped: [], context: {} } as never;
  const call = { endpoint: { protocol: "chat" } } as never;
  return new Translation(call, to, {} as never, {} as never, {} as never, () => made);
}

for (const [to, bytes, isAgain] of [
  ["responses", 4 * MB, true],
  ["responses", 4 * MB + 1, false],
  ["messages", 70_000, false],
  ["chat", 70_000, false],
] as const) {
  const what = isAgain ? "goes out again without it" : "does not go out again";
  t.test(`a long request to ${to} of ${bytes} bytes with refused state ${what}`, async (t) => {
    const request = written(to, bytes);
    const sent = () => String(request.bodyFor(ROUTE)?.bytes()).trim();
    const before = sent();
    t.equal(request.sendsAgain(500, REFUSED_STATE), false);
    t.equal(request.sendsAgain(400, '{"error":{"code":"other"}}'), false);
    t.equal(sent(), before, "no other refusal is worth it");
    t.equal(request.sendsAgain(400, REFUSED_STATE), isAgain);
    t.equal(sent(), isAgain ? '{"input":[{"role":"user","content":"Hi"}]}' : before);
  });
}
