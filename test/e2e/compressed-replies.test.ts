import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from "node:zlib";
import t from "tap";
import { type Customer, committedWallet, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { deliveredText, post } from "../support/requests.ts";
import { startRoutedGateway } from "../support/routed-gateway.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";

const MB = 1_048_576;

const message = (text: string) =>
  Buffer.from(
    JSON.stringify({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  );

const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const usage = { input_tokens: 10, output_tokens: 5 };
const EVENTS = [
  event("message_start", { message: { id: "msg_1", role: "assistant", content: [], usage } }),
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Packed." } }),
  event("content_block_stop", { index: 0 }),
  event("message_delta", { delta: { stop_reason: "end_turn" }, usage }),
  event("message_stop", {}),
];

const TEXT = message("Packed.");
const whole: Readonly<Record<string, readonly [encoding: string, body: Buffer]>> = {
  gzip: ["gzip", gzipSync(TEXT)],
  capitals: [" GZIP", gzipSync(TEXT)],
  older: ["x-gzip", gzipSync(TEXT)],
  deflate: ["deflate", deflateSync(TEXT)],
  brotli: ["br", brotliCompressSync(TEXT)],
};
const broken: typeof whole = {
  bomb: ["gzip", gzipSync(message("0".repeat(64 * MB)))],
  "ends-early": ["gzip", gzipSync(TEXT).subarray(0, -12)],
  "is-none": ["gzip", TEXT],
};

t.test("an upstream that compresses its replies, though it is asked not to", async (t) => {
  let simulator: TestSimulator;
  let server: Server;
  let gateway: TestGateway;
  let customer: Customer;
  const asked = new Set<string | undefined>();

  t.before(async () => {
    simulator = await startTestSimulator();
    server = createServer((request, response) => {
      asked.add(request.headers["accept-encoding"]);
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.once("end", () => {
        const { model, stream } = JSON.parse(Buffer.concat(parts).toString());
        const name = String(model).replace(/-0$/, "");
        const type = stream ? "text/event-stream" : "application/json";
        const [encoding, body] = whole[name] ?? broken[name] ?? ["gzip", Buffer.alloc(0)];
        const status = name === "refused" ? 400 : 200;
        response.writeHead(status, { "content-type": type, "content-encoding": encoding });
        if (name === "refused") {
          const error = { type: "invalid_request_error", message: "so it says" };
          response.end(gzipSync(JSON.stringify({ type: "error", error })));
        } else if (stream) {
          const gzip = createGzip();
          gzip.pipe(response);
          for (const part of EVENTS) {
            gzip.write(part);
            gzip.flush();
          }
          gzip.end();
        } else response.end(body);
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const behaves = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const names = [...Object.keys(whole), ...Object.keys(broken), "refused"];
    const models = Object.fromEntries(names.map((name) => [name, [{ behaves }]]));
    gateway = await startRoutedGateway(simulator, models, { reply_mb: 1 });
    customer = await createCustomer(gateway, { creditVnd: 1000 });
  });
  t.teardown(async () => {
    await gateway?.close();
    await simulator?.stop();
    server?.closeAllConnections();
    server?.close();
  });

  const call = (model: string, stream = false) =>
    post(gateway, "/v1/messages", customer, {
      model,
      stream,
      max_tokens: 5,
      messages: [{ role: "user", content: "hello" }],
    });

  t.test("is read and charged, whatever it uses", async (t) => {
    for (const name of Object.keys(whole)) {
      const { status, headers, json } = await call(name);
      t.equal(status, 200, name);
      t.equal(json.content[0].text, "Packed.", name);
      t.equal(headers.get("content-encoding"), null);
      t.equal(headers.get("x-svc-cost-vnd"), "0.15");
    }
    t.strictSame([...asked], ["identity"]);
  });

  t.test("is read event by event", async (t) => {
    const { status, text } = await call("gzip", true);
    t.equal(status, 200);
    t.equal(deliveredText(text), "Packed.");
    t.match(text, /message_stop/);
  });

  t.test("is understood when it refuses", async (t) => {
    const { status, text } = await call("refused");
    t.equal(status, 400);
    t.match(text, /so it says/);
  });

  t.test("is cut at the limit of a reply, and costs nothing if it cannot be read", async (t) => {
    const { balance } = await committedWallet(gateway, customer.accountId);
    for (const name of Object.keys(broken)) {
      const { status, text } = await call(name);
      t.equal(status, 502, name);
      t.notMatch(text, /Packed/);
      if (name === "bomb") t.match(text, /1 MB|larger|limit/);
    }
    t.equal((await committedWallet(gateway, customer.accountId)).balance, balance);
  });
});
