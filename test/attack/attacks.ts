import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { CHAT_MODEL, IMAGE_MODEL, MESSAGES_MODEL } from "../support/ask.ts";
import { RawClient } from "../support/raw-client.ts";
import { type Attack, headOf, type Target } from "./attack.ts";

const CHAT = "/v1/chat/completions";
const EDITS = "/v1/images/edits";
const BODY_BYTES = 20 * 1_048_576 - 1_024;
const PIECE = Buffer.alloc(65_536, "x");
/** The gateway cuts a connection that is silent for 10 s. */
const SILENT_MS = 15_000;
const FEW_VND = 10;
const MANY_VND = 10_000_000;

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

const unendedChunks: Attack = {
  name: "unended-chunks",
  what: "300 chunked requests of one byte that never end, without a key",
  run: (target) => {
    const head = headOf("POST", CHAT, { "transfer-encoding": "chunked" });
    return target.lanes(300, () => target.send([`${head}1\r\n{\r\n`], SILENT_MS));
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

const guessedKeys: Attack = {
  name: "guessed-keys",
  what: "64 connections that guess keys, of the form of today's and of earlier ones",
  run: (target) =>
    target.lanes(64, async (lane) => {
      const key = `tg-${randomBytes(lane % 2 === 0 ? 36 : 30).toString("base64url")}`;
      await target.send([headOf("GET", "/v1/models", { "x-api-key": key })], SILENT_MS);
    }),
};

const adminTokens: Attack = {
  name: "admin-tokens",
  what: "20 connections that guess the admin token",
  run: (target) =>
    target.lanes(20, async () => {
      const authorization = `Bearer ${randomBytes(32).toString("hex")}`;
      await target.send([headOf("GET", "/admin/v1/accounts", { authorization })], SILENT_MS);
    }),
};

const signIns: Attack = {
  name: "sign-ins",
  what: "40 connections that guess passwords of accounts",
  run: (target) =>
    target.lanes(40, async (lane) => {
      const guess = {
        email: `victim-${lane}@tollgate.test`,
        password: randomBytes(9).toString("hex"),
      };
      await target.post("/account/v1/sign-in", "", Buffer.from(JSON.stringify(guess)));
    }),
};

const noHttp: Attack = {
  name: "no-http",
  what: "50 connections with heads that cannot be read",
  run: (target) => {
    const sent = [
      "GARBAGE\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nx: a\r\n b\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nx: a\x01b\r\n\r\n",
      "POST /v1/messages HTTP/1.1\r\ntransfer-encoding : chunked\r\n\r\n",
      `GET /healthz HTTP/1.1\r\nhost: h\r\nx: ${"a".repeat(20_000)}\r\n\r\n`,
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    return target.lanes(50, (lane) => target.send([sent[lane % sent.length] ?? ""], SILENT_MS));
  },
};

const drips: Attack = {
  name: "drips",
  what: "200 connections that send a head or a body byte by byte",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const head = headOf("POST", CHAT, { "x-api-key": key, "content-length": 100_000 });
    await target.lanes(200, (lane) =>
      drip(target, lane % 2 === 0 ? head : "", lane % 2 === 0 ? "{" : "G"),
    );
  },
};

async function drip(target: Target, head: string, byte: string): Promise<void> {
  const client = await RawClient.open(target.gateway.port);
  try {
    await client.send(head);
    while (!target.signal.aborted && (await client.send(byte))) await target.pause(500);
    if (client.ended) target.count("cut");
  } finally {
    client.destroy();
  }
}

export const ATTACKS: readonly Attack[] = [
  heldBodies,
  unendedChunks,
  imageAddresses,
  tinyValues("numbers", "10 million numbers", numbers),
  tinyValues("objects", "7 million empty objects", objects),
  tinyValues("names", "1.6 million names", names),
  tinyValues("brackets", "20 million open brackets", deep),
  formParts,
  translations,
  countTokens,
  guessedKeys,
  adminTokens,
  signIns,
  noHttp,
  drips,
];
