import { randomBytes } from "node:crypto";
import { CHAT_MODEL } from "../support/ask.ts";
import { RawClient } from "../support/raw-client.ts";
import { type Attack, FEW_VND, headOf, SILENT_MS, type Target } from "./attack.ts";

const CHAT = "/v1/chat/completions";
const CHUNKED = headOf("POST", CHAT, { "transfer-encoding": "chunked" });

const unendedChunks: Attack = {
  name: "unended-chunks",
  what: "300 chunked requests of one byte that never end, without a key",
  run: (target) => target.lanes(300, () => target.send([`${CHUNKED}1\r\n{\r\n`], SILENT_MS)),
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

const operatorPages: Attack = {
  name: "operator-pages",
  what: "40 connections that ask for /metrics and /readyz",
  run: (target) =>
    target.lanes(40, (lane) =>
      target.send([headOf("GET", lane % 2 === 0 ? "/metrics" : "/readyz", {})], SILENT_MS),
    ),
};

const headerBytes: Attack = {
  name: "header-bytes",
  what: "20 calls at a time with a header that providers' clients refuse, with 10 đ",
  async run(target) {
    const { key } = await target.customer(FEW_VND);
    const message = { role: "user", content: "x" };
    const body = JSON.stringify({ model: CHAT_MODEL, messages: [message], max_tokens: 1 });
    const head = headOf("POST", CHAT, {
      "x-api-key": key,
      "anthropic-beta": "a\x7fb",
      "openai-organization": "a\x7fb",
      "content-type": "application/json",
      "content-length": body.length,
    });
    await target.lanes(20, () => target.send([Buffer.from(head + body, "latin1")], SILENT_MS));
  },
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

const framing: Attack = {
  name: "framing",
  what: "50 connections with chunks, trailers and second requests that HTTP does not allow so",
  run: (target) => {
    const health = headOf("GET", "/healthz", {});
    const sent = [
      `${CHUNKED}2\n{}\n0\n\n`,
      `${CHUNKED}2\r\n{}XX0\r\n\r\n`,
      `${CHUNKED}2;a=b\r\n{}\r\n0\r\n\r\n`,
      `${CHUNKED}2\r\n{}\r\n0\r\nGET /v2/hidden HTTP/1.1\r\nhost: h\r\n\r\n`,
      health.repeat(500),
      headOf("HEAD", CHAT, { "transfer-encoding": "chunked" }),
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

/** Attacks without a body, or with a short one. */
export const HEADS = {
  unendedChunks,
  guessedKeys,
  adminTokens,
  signIns,
  operatorPages,
  headerBytes,
  noHttp,
  framing,
  drips,
};
