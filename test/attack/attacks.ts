import { once } from "node:events";
import { createServer } from "node:http";
import { CHAT_MODEL, IMAGE_MODEL, MESSAGES_MODEL } from "../support/ask.ts";
import { type Attack, FEW_VND, headOf, MANY_VND, SILENT_MS } from "./attack.ts";
import { HEADS } from "./heads.ts";
import { manyParts } from "./parts.ts";
import { REPLIES } from "./replies.ts";

const CHAT = "/v1/chat/completions";
const EDITS = "/v1/images/edits";
const IMAGES = "/v1/images/generations";
const BODY_BYTES = 20 * 1_048_576 - 1_024;
const PIECE = Buffer.alloc(65_536, "x");

const heldBodies: Attack = {
  name: "held-bodies",
  what: "150 bodies of which 19.9 of 20 MB arrive, with 10 đ",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const head = headOf("POST", CHAT, { "x-api-key": key, "content-length": BODY_BYTES });
    function* pieces() {
      yield head;
      for (let sent = 0; sent + PIECE.length < BODY_BYTES; sent += PIECE.length) yield PIECE;
    }
    await target.lanes(150, () => target.send(pieces(), SILENT_MS));
  },
};

const imageAddresses: Attack = {
  name: "image-addresses",
  what: "12 image edits at a time, each naming 16 pictures of 19 MB, with and without money",
  async run(target) {
    const picture = Buffer.alloc(19 * 1_048_576);
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1").copy(picture);
    const server = createServer((_, response) => void response.end(picture));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const bound = server.address();
    const port = typeof bound === "object" ? bound?.port : 0;
    const image = Array.from({ length: 16 }, (_, at) => `http://127.0.0.1:${port}/${at}`);
    const body = Buffer.from(JSON.stringify({ model: IMAGE_MODEL, prompt: "a toll", image }));
    const customers = await Promise.all([
      target.customer(),
      target.customer(FEW_VND),
      target.customer(MANY_VND),
    ]);
    try {
      await target.lanes(12, async (lane) => {
        await target.post(EDITS, customers[lane % 3]?.key ?? "", body);
        await target.pause(20);
      });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
};

const imageNames: Attack = {
  name: "image-names",
  what: "8 image edits at a time by 4 accounts, each naming a new host whose name server never replies",
  async run(target) {
    const accounts = Array.from({ length: 4 }, () => target.customer(MANY_VND));
    const customers = await Promise.all(accounts);
    let names = 0;
    await target.lanes(8, (lane) => {
      const image = `http://n${names++}.slow.example/a.png`;
      const body = Buffer.from(JSON.stringify({ model: IMAGE_MODEL, prompt: "a toll", image }));
      return target.post(EDITS, customers[lane % 4]?.key ?? "", body);
    });
  },
};

const leftCalls: Attack = {
  name: "left-calls",
  what: "60 images and long replies at a time, each left after 50 ms, with 100,000 đ",
  async run(target) {
    const { key } = await target.customer(100_000);
    const slow = '[[sim {"delay_ms":300,"output_tokens":20000}]]';
    const calls = [
      [IMAGES, { model: IMAGE_MODEL, prompt: slow, n: 10 }],
      [CHAT, { model: CHAT_MODEL, messages: [{ role: "user", content: slow }] }],
    ] as const;
    await target.lanes(60, async (lane) => {
      const [path, json] = calls[lane % 2]!;
      const body = JSON.stringify(json);
      const head = headOf("POST", path, { "x-api-key": key, "content-length": body.length });
      await target.send([head, body], 50);
    });
  },
};

/** 20 MB of JSON that repeats `items`. */
function bodyOfItems(open: string, items: string, close: string): Buffer {
  const head = `{"model":"${CHAT_MODEL}","messages":[{"role":"user","content":"x"}],"a":${open}`;
  const end = `0${close}}`;
  const count = Math.floor((BODY_BYTES - head.length - end.length) / items.length);
  return Buffer.from(head + items.repeat(count) + end);
}

function tinyValues(name: string, what: string, make: () => Buffer): Attack {
  return {
    name,
    what: `8 bodies of 20 MB at a time of ${what}`,
    async run(target) {
      const { key } = await target.customer(FEW_VND);
      const body = make();
      await target.lanes(8, () => target.post(CHAT, key, body));
    },
  };
}

const thousandNames = Array.from({ length: 1_000 }, (_, at) => `"key${at}":0,`).join("");
const numbers = () => bodyOfItems("[", "0,", "]");
const objects = () => bodyOfItems("[", "{},", "]");
const names = () => bodyOfItems("{", thousandNames, '"z":0}');
const deep = () => bodyOfItems("", "[", "");

/** A conversation of 20 MB for a model of another protocol. `turns` returns the nth turns of it. */
function translatedBody(turns: (at: number) => readonly object[]): Buffer {
  const pieces: string[] = [];
  let bytes = 200;
  for (;;) {
    const piece = JSON.stringify(turns(pieces.length)).slice(1, -1);
    bytes += Buffer.byteLength(piece) + 1;
    if (bytes > BODY_BYTES) break;
    pieces.push(piece);
  }
  const messages = `[${pieces.join(",")}]`;
  return Buffer.from(`{"model":"${MESSAGES_MODEL}","max_tokens":9,"messages":${messages}}`);
}

const LONG_TEXT = "Hôm nay trời đẹp, chúng ta đi dạo quanh hồ.\n".repeat(400);
/** Short enough to be parsed: a text of more values stays a text. */
const MANY_OBJECTS = `{"a":[${"{},".repeat(30_000)}0]}`;

const saidTurns = () => ["user", "assistant"].map((role) => ({ role, content: LONG_TEXT }));

function toolTurns(at: number): object[] {
  const called = { name: "f", arguments: MANY_OBJECTS };
  const call = { id: `c${at}`, type: "function", function: called };
  return [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: `c${at}`, content: "x" },
  ];
}

const translations: Attack = {
  name: "translations",
  what: "8 calls of 20 MB at a time that are translated: long texts, and 6 million objects in arguments",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const bodies = [translatedBody(saidTurns), translatedBody(toolTurns)] as const;
    await target.lanes(8, (lane) => target.post(CHAT, key, bodies[lane % 2] ?? bodies[0]));
  },
};

const formParts: Attack = {
  name: "form-parts",
  what: "4 forms of 20 MB at a time, each of 370,000 parts",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';
    const body = Buffer.from(part.repeat(Math.floor(BODY_BYTES / part.length)));
    await target.lanes(4, () => target.post(EDITS, key, body, "multipart/form-data; boundary=b"));
  },
};

const imageTexts: Attack = {
  name: "image-texts",
  what: "4 image edits of 20 MB at a time whose image is text: base64 with spaces, and Vietnamese",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const head = '--b\r\ncontent-disposition: form-data; name="image"\r\n\r\n';
    const forms = ["a b", "trời đẹp "].map((text) => {
      const count = Math.floor((BODY_BYTES - 200) / Buffer.byteLength(text));
      return Buffer.from(`${head}${text.repeat(count)}\r\n--b--\r\n`);
    });
    await target.lanes(4, (lane) =>
      target.post(
        EDITS,
        key,
        forms[lane % 2] ?? Buffer.alloc(0),
        "multipart/form-data; boundary=b",
      ),
    );
  },
};

const countTokens: Attack = {
  name: "count-tokens",
  what: "40 counts of 20 MB at a time, with 0 đ: half text, half tiny values",
  async run(target) {
    const { key } = await target.customer();
    const content = "The toll road was older than the town. ".repeat(510_000);
    const text = Buffer.from(
      JSON.stringify({ model: "opus", messages: [{ role: "user", content }] }),
    );
    const values = objects();
    const path = "/v1/messages/count_tokens";
    await target.lanes(40, (lane) => target.post(path, key, lane % 2 === 0 ? text : values));
  },
};

export const ATTACKS: readonly Attack[] = [
  heldBodies,
  HEADS.unendedChunks,
  imageAddresses,
  imageNames,
  leftCalls,
  tinyValues("numbers", "10 million numbers", numbers),
  tinyValues("objects", "7 million empty objects", objects),
  tinyValues("names", "1.6 million names", names),
  tinyValues("brackets", "20 million open brackets", deep),
  manyParts,
  formParts,
  imageTexts,
  translations,
  countTokens,
  HEADS.guessedKeys,
  HEADS.adminTokens,
  HEADS.signIns,
  HEADS.operatorPages,
  HEADS.headerBytes,
  HEADS.noHttp,
  HEADS.framing,
  HEADS.drips,
  ...REPLIES,
];
