import {
  type CallPath,
  CHAT_MODEL,
  IMAGE_MODEL,
  MESSAGES_MODEL,
  SPEECH_MODEL,
} from "../support/ask.ts";
import type { Random } from "../support/random.ts";

/** One well-formed HTTP request with hostile content. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const PATHS: readonly CallPath[] = [
  "/v1/messages",
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/images/generations",
  "/v1/audio/speech",
];

/** Put into the JSON as they are, since no serialiser writes them. */
const RAW = ["1e400", "-1e400", "-0", "1E+2", "0.1e-400", '"\\ud800"', '"\\udc00\\ud800"'] as const;

const STRANGE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  2 ** 53,
  -(2 ** 63),
  1e308,
  "",
  "0",
  "\u0000",
  "\u202e\ufeff",
  "constructor",
  "data:image/png;base64,",
  "data:;base64,%%%",
  "http://127.0.0.1:1/x.png",
  "a".repeat(10_000),
  "\u{1f4b8}".repeat(500),
  [],
  {},
  [null],
  [[]],
  [{}],
  [{ role: "user" }],
  [{ role: "user", content: null }],
  [{ role: "user", content: [{ type: "text" }] }],
  [{ role: "user", content: [{ type: "image", source: { type: "base64", data: 7 } }] }],
  [{ role: "tool", content: "x", tool_call_id: {} }],
  [{ role: "assistant", content: [{ type: "tool_use", id: 1, name: [], input: "x" }] }],
  { type: "object", properties: { a: { $ref: "#" } } },
  { effort: "very", budget_tokens: -5, type: "enabled" },
  { include_usage: "yes" },
];

const FIELDS = [
  "model",
  "messages",
  "input",
  "prompt",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "stream",
  "stream_options",
  "n",
  "size",
  "voice",
  "tools",
  "tool_choice",
  "thinking",
  "system",
  "stop",
  "stop_sequences",
  "response_format",
  "temperature",
  "metadata",
  "image",
  "image_url",
  "reasoning_effort",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
] as const;

/** Generates hostile requests; `marker` is in their prompts, to be searched for in the logs. */
export class HostileRequests {
  constructor(
    private readonly random: Random,
    private readonly key: string,
    private readonly marker: string,
  ) {}

  next(): HostileRequest {
    const { random } = this;
    const kind = random.fraction();
    if (kind < 0.55) return this.call(this.wrongFields());
    if (kind < 0.75) return this.call(this.brokenJson());
    if (kind < 0.8) return this.call(this.nested());
    if (kind < 0.88) return this.form();
    return this.stray();
  }

  private call(body: Buffer): HostileRequest {
    const headers = { ...this.credentials(), "content-type": this.contentType() };
    return { method: "POST", path: this.random.pick(PATHS), headers, body };
  }

  private credentials(): Record<string, string> {
    const kind = this.random.fraction();
    if (kind < 0.8) return { "x-api-key": this.key };
    if (kind < 0.92) return { authorization: `Bearer ${this.key}` };
    const wrong = ["", " ", "tg-wrong", "a".repeat(600), "Bearer", "'; drop table keys; --", "%00"];
    const value = this.random.pick(wrong);
    return this.random.chance(0.5) ? { "x-api-key": value } : { authorization: value };
  }

  private contentType(): string {
    if (this.random.chance(0.9)) return "application/json";
    return this.random.pick(["", "text/plain", "application/json; charset=utf-16", "multipart/"]);
  }

  private sound(): Record<string, unknown> {
    const { random } = this;
    const text = `${this.marker} [[sim {"output_tokens":${random.below(9)}}]]`;
    const model = random.pick([MESSAGES_MODEL, CHAT_MODEL, IMAGE_MODEL, SPEECH_MODEL, "opus", "x"]);
    return {
      model,
      max_tokens: 16,
      messages: [{ role: "user", content: text }],
      input: text,
      prompt: text,
      voice: "alloy",
      ...(random.chance(0.3) && { stream: true }),
    };
  }

  private wrongFields(): Buffer {
    const { random } = this;
    const fields = Object.entries(this.sound()).map(([name, value]) => [
      name,
      JSON.stringify(value),
    ]);
    for (let changes = 1 + random.below(3); changes > 0; changes--) {
      const value = random.chance(0.2) ? random.pick(RAW) : JSON.stringify(random.pick(STRANGE));
      const at = random.below(fields.length);
      const kind = random.fraction();
      if (kind < 0.4) fields[at] = [fields[at]?.[0] ?? "", value];
      else if (kind < 0.5) fields.splice(at, 1);
      else fields.splice(at, 0, [random.pick(FIELDS), value]);
    }
    const members = fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`);
    return Buffer.from(`{${members.join(",")}}`);
  }

  private brokenJson(): Buffer {
    const { random } = this;
    const bytes = Buffer.from(JSON.stringify(this.sound()));
    const at = random.below(bytes.length);
    switch (random.below(6)) {
      case 0:
        return bytes.subarray(0, at);
      case 1:
        bytes[at] = random.below(256);
        return bytes;
      case 2:
        return Buffer.concat([bytes, random.bytes(1 + random.below(20))]);
      case 3:
        return Buffer.concat([bytes.subarray(0, at), random.bytes(3), bytes.subarray(at)]);
      case 4:
        return random.bytes(random.below(300));
      default: {
        const invalid = random.pick([
          "[]",
          "null",
          '"x"',
          "NaN",
          "{}{}",
          "\ufeff{}",
          "{'a':1}",
          "",
        ]);
        return Buffer.from(invalid);
      }
    }
  }

  private nested(): Buffer {
    const { random } = this;
    const depth = random.pick([10, 150, 199, 200, 201, 300, 5_000]);
    const [open, close] = random.pick([
      ["[", "]"],
      ['{"a":', "}"],
    ]);
    const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
    const name = random.pick(["messages", "tools", "metadata", "system", "x", "stop"]);
    const sound = JSON.stringify(this.sound());
    return Buffer.from(`{${JSON.stringify(name)}:${deep},${sound.slice(1)}`);
  }

  private form(): HostileRequest {
    const { random } = this;
    const boundary = random.pick(["b", "----x", "a".repeat(200), ""]);
    const parts = Array.from({ length: random.below(6) }, () => {
      const name = random.pick(["model", "prompt", "image", "n", "__proto__", "", 'a"b', "stream"]);
      const file = random.chance(0.3) ? '; filename="x.png"' : "";
      const value = random.chance(0.3)
        ? random.bytes(random.below(200)).toString("latin1")
        : random.pick([IMAGE_MODEL, this.marker, "1", "99999999999", "true", "\r\n\r\n"]);
      return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
    });
    const end = random.pick([`--${boundary}--\r\n`, `--${boundary}`, "", "--"]);
    const declared = random.pick([`; boundary=${boundary}`, "", "; boundary=", "; boundary=other"]);
    return {
      method: "POST",
      path: random.pick(["/v1/images/edits", "/v1/images/edits", "/v1/messages"]),
      headers: { ...this.credentials(), "content-type": `multipart/form-data${declared}` },
      body: Buffer.from(parts.join("") + end, "latin1"),
    };
  }

  private stray(): HostileRequest {
    const { random } = this;
    const method = random.pick(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "POST", "BREW", "get"]);
    const parts = [
      "v1",
      "messages",
      "chat",
      "completions",
      "models",
      "..",
      "%2e%2e",
      "%00",
      "%",
      "admin",
    ];
    const more = [
      "",
      "count_tokens",
      "req%2Fx",
      "accounts",
      "*",
      ":id",
      "a".repeat(300),
      "healthz",
    ];
    const length = 1 + random.below(5);
    const path = Array.from({ length }, () => random.pick([...parts, ...more])).join("/");
    const query = random.chance(0.3)
      ? `?${random.pick(["a=%", "__proto__=1", "&&&=", "limit=1e9"])}`
      : "";
    const body = random.chance(0.5) ? this.wrongFields() : Buffer.alloc(0);
    const headers = { ...this.credentials(), "content-type": "application/json" };
    return { method, path: `/${path}${query}`, headers, body };
  }
}

/**
 * Bytes that are no well-formed request, or hide one; `key` must never be charged for any of them.
 */
export function malformed(random: Random, key: string, body: string): Buffer {
  const hidden =
    `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n`;
  const length = hidden.length;
  const chunks = "transfer-encoding: chunked\r\n";
  const all = [
    // Contradictory lengths of the body.
    `${head}content-length: 5\r\n${chunks}\r\n0\r\n\r\n${hidden}`,
    `${head}${chunks}content-length: ${length}\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}content-length: 0\r\ncontent-length: ${length}\r\n\r\n${hidden}`,
    `${head}content-length: ${length}\r\ncontent-length: 0\r\n\r\n${hidden}`,
    `${head}content-length: +0\r\n\r\n${hidden}`,
    `${head}content-length: 0x10\r\n\r\n${hidden}`,
    `${head}content-length: 1e1\r\n\r\n${hidden}`,
    `${head}content-length: -1\r\n\r\n${hidden}`,
    `${head}content-length: 18446744073709551616\r\n\r\n${hidden}`,
    `${head}content-length : 0\r\n\r\n${hidden}`,
    `${head}transfer-encoding: xchunked\r\n\r\n${hidden}`,
    `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}transfer-encoding:\tchunked\r\n\r\nzz\r\n${hidden}`,
    `${head}${chunks}${chunks}\r\n0\r\n\r\n${hidden}`,
    // Malformed chunks.
    `${head}${chunks}\r\n-1\r\n${hidden}`,
    `${head}${chunks}\r\nffffffffffffffffff\r\n${hidden}`,
    `${head}${chunks}\r\n5\r\nhelloworld\r\n0\r\n\r\n${hidden}`,
    `${head}${chunks}\r\n5;${"a".repeat(5_000)}\r\nhello\r\n0\r\n\r\n`,
    // uWebSockets.js reads an empty size as 0, so no request is hidden after this one.
    `${head}${chunks}\r\n\r\n\r\n`,
    `${head}${chunks}\r\n5\nhello\n0\n\n${hidden}`,
    // Malformed heads.
    `${head}a: b\r\n folded: yes\r\ncontent-length: 0\r\n\r\n`,
    `${head}a: b\0c\r\ncontent-length: 0\r\n\r\n`,
    `${head}a\r\n\r\n${hidden}`,
    `${head}: empty\r\n\r\n`,
    `${head}a: ${"x".repeat(20_000)}\r\n\r\n${hidden}`,
    `${head}${Array.from({ length: 400 }, (_, at) => `h${at}: ${at}\r\n`).join("")}\r\n`,
    `POST /v1/messages HTTP/9.9\r\n${hidden}`,
    `POST /v1/messages\r\n\r\n${hidden}`,
    `POST  /v1/messages  HTTP/1.1\r\n\r\n`,
    `POST http://elsewhere/v1/messages HTTP/1.1\r\nx-api-key: ${key}\r\n\r\n`,
    `CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    `GET /${"a".repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    "\r\n\r\n\r\n\r\n",
    "\0\0\0\0",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    // Bodies that never end.
    `${head}content-length: ${length}\r\n\r\n${body.slice(0, random.below(body.length))}`,
    `${head}${chunks}\r\nff\r\n${body.slice(0, 40)}`,
  ];
  if (random.chance(0.15)) return random.bytes(1 + random.below(400));
  const bytes = Buffer.from(random.pick(all), "latin1");
  if (!random.chance(0.2)) return bytes;
  return bytes.subarray(0, random.below(bytes.length));
}
