import t from "tap";
import type { Protocol } from "../../../core/plugin/index.ts";
import { LongRequest } from "../../../plugins/translate/long-request.ts";

const REFUSED_STATE = '{"error":{"code":"invalid_encrypted_content"}}';
const MB = 1_048_576;

/** A request that a thread has written, and how often the main thread translates it again. */
function written(to: Protocol, bytes: number) {
  const count = { translations: 0 };
  const onThisThread = () => {
    count.translations++;
    return { sendsAgain: () => true } as never;
  };
  const json = { bytes: Buffer.alloc(bytes), head: {} } as never;
  return { request: new LongRequest({ to } as never, json, [], onThisThread), count };
}

for (const [to, bytes, isAgain] of [
  ["responses", 4 * MB, true],
  ["responses", 4 * MB + 1, false],
  ["messages", 70_000, false],
  ["chat", 70_000, false],
] as const) {
  const what = isAgain ? "goes out again" : "is not translated on the main thread";
  t.test(`a long request to ${to} of ${bytes} bytes with refused state ${what}`, async (t) => {
    const { request, count } = written(to, bytes);
    t.equal(request.sendsAgain(500, REFUSED_STATE), false);
    t.equal(request.sendsAgain(400, '{"error":{"code":"other"}}'), false);
    t.equal(count.translations, 0, "no other refusal is worth it");
    t.equal(request.sendsAgain(400, REFUSED_STATE), isAgain);
    t.equal(count.translations, isAgain ? 1 : 0);
  });
}
