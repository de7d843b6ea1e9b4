import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import t from "tap";
import { attempt } from "../../../core/config/validate.ts";
import { Channels, notDelivered } from "../../../plugins/messages/channels.ts";
import { options, review } from "../../../plugins/messages/options.ts";
import { printingTransport } from "../../../plugins/messages/transport.ts";
import { startLocalServer } from "../../support/local-server.ts";

const TOKEN = "123456:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQ";
const SECRET = "a secret of the webhook";
const texts = {
  vi: { subject: "Cần xử lý", paragraphs: ["Nhà cung cấp lỗi.", "http://console.test/upstreams"] },
  en: { subject: "To do", paragraphs: ["A provider fails.", "http://console.test/upstreams"] },
};
const notice = { id: "message-7", kind: "trouble", about: "breaker main", texts };

/** One reply of a server, and what it got. */
interface Exchange {
  status: number;
  reply: object | string;
  headers: IncomingHttpHeaders;
  url: string | undefined;
  body: string;
}

t.test("channels to operators", async (t) => {
  const exchange: Exchange = { status: 200, reply: {}, headers: {}, url: "", body: "" };
  const server = await startLocalServer(
    async (request: IncomingMessage, response: ServerResponse) => {
      exchange.body = "";
      for await (const chunk of request) exchange.body += String(chunk);
      exchange.headers = request.headers;
      exchange.url = request.url;
      const location = { location: "http://127.0.0.1:1/elsewhere" };
      response.writeHead(exchange.status, exchange.status === 302 ? location : {});
      response.end(JSON.stringify(exchange.reply));
    },
  );
  t.teardown(() => server.stop());

  function channelsOf(operators: object): Channels {
    const read = attempt(options, { operators });
    if (!read) throw new Error("wrong options");
    return new Channels(read.operators, printingTransport());
  }
  const webhook = { url: `${server.url}/hook`, secret: SECRET, allow_private: true };
  const telegram = { token: TOKEN, chat_id: "-100123", api_url: server.url };

  /** Returns how it failed. */
  async function failureOf(channels: Channels, name: string) {
    try {
      await channels.send(name, notice);
    } catch (error) {
      t.notMatch(String(error) + JSON.stringify(notDelivered(error)), TOKEN);
      const { failure, isFinal, retryMs } = notDelivered(error);
      return { failure, isFinal, retryMs };
    }
    return undefined;
  }

  t.test("a webhook gets JSON whose signature proves it and its time", async (t) => {
    exchange.status = 204;
    await channelsOf({ language: "en", webhook }).send("webhook", notice);
    t.strictSame(JSON.parse(exchange.body), {
      ...{ id: "message-7", kind: "trouble", about: "breaker main", subject: "To do" },
      text: "A provider fails.\n\nhttp://console.test/upstreams",
    });
    const given = String(exchange.headers["x-tollgate-signature"]);
    const [, at, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(given) ?? [];
    const expected = createHmac("sha256", SECRET).update(`${at}.${exchange.body}`).digest("hex");
    t.equal(mac, expected);
    t.ok(Math.abs(Number(at) - Date.now() / 1000) < 60);
  });

  t.test(
    "a webhook is tried again after a fault of its server, not after one of ours",
    async (t) => {
      const channels = channelsOf({ webhook });
      for (const [status, isFinal] of [
        [500, false],
        [503, false],
        [429, false],
        [404, true],
        [302, false],
      ] as const) {
        exchange.status = status;
        t.match(await failureOf(channels, "webhook"), { failure: String(status), isFinal });
      }
    },
  );

  t.test("a webhook at a private address is refused, unless the config allows it", async (t) => {
    const { port } = new URL(server.url);
    const refused = { url: `http://localhost:${port}/`, secret: SECRET };
    t.match(await failureOf(channelsOf({ webhook: refused }), "webhook"), {
      ...{ failure: "EPRIVATE", isFinal: false },
    });
    const faults = (url: string) => {
      const read = attempt(options, { operators: { webhook: { url, secret: SECRET } } });
      return read && review(read).map(({ path }) => path.join("."));
    };
    for (const host of ["127.0.0.1", "[::1]", "10.0.0.7", "localhost", "169.254.169.254"]) {
      t.strictSame(faults(`http://${host}/`), ["operators.webhook.url"], host);
    }
    t.strictSame(faults("https://hooks.example.com/a"), []);
    t.strictSame(faults("https://hooks.example.com/a?code=b%2Bc=="), []);
    t.strictSame(faults("https://10.0.0.7?code=b"), ["operators.webhook.url"]);
    for (const wrong of ["hooks.example.com?code=b", "https://?code=b", "https://a.example#b"]) {
      t.equal(faults(wrong), undefined, wrong);
    }
    const mails = attempt(options, { operators: { mail: ["ops@example.com"] } });
    t.strictSame(mails && review(mails).map(({ message }) => message), [
      "expected smtp too, which sends the mails",
    ]);
  });

  t.test("a Telegram bot sends text, and waits as long as it is asked to", async (t) => {
    const channels = channelsOf({ telegram });
    Object.assign(exchange, { status: 200, reply: { ok: true } });
    await channels.send("telegram", notice);
    t.equal(exchange.url, `/bot${TOKEN}/sendMessage`);
    t.match(JSON.parse(exchange.body), {
      chat_id: "-100123",
      text: "Cần xử lý\n\nNhà cung cấp lỗi.\n\nhttp://console.test/upstreams",
    });
    const description = "Too Many Requests: retry after 34";
    const parameters = { retry_after: 34 };
    Object.assign(exchange, { status: 429, reply: { ok: false, description, parameters } });
    t.strictSame(await failureOf(channels, "telegram"), {
      ...{ failure: `429 ${description}`, isFinal: false, retryMs: 34_000 },
    });
    Object.assign(exchange, { status: 400, reply: { description: "Bad Request: chat not found" } });
    t.match(await failureOf(channels, "telegram"), {
      ...{ failure: "400 Bad Request: chat not found", isFinal: true },
    });
    const upgraded = "Bad Request: group chat was upgraded to a supergroup chat";
    const moved = { description: upgraded, parameters: { migrate_to_chat_id: -1001234 } };
    Object.assign(exchange, { status: 400, reply: moved });
    t.match(await failureOf(channels, "telegram"), {
      ...{ failure: `400 ${upgraded}; migrate_to_chat_id: -1001234`, isFinal: true },
    });
    exchange.reply = "x".repeat(200_000);
    t.match(await failureOf(channels, "telegram"), { isFinal: true });
  });

  t.test("an unreachable channel fails with a code that shows no secret", async (t) => {
    const away = { ...telegram, api_url: "http://127.0.0.1:1" };
    t.match(await failureOf(channelsOf({ telegram: away }), "telegram"), {
      ...{ failure: "ECONNREFUSED", isFinal: false },
    });
  });

  t.test("a channel that does not reply in time says so", async (t) => {
    const silent = await startLocalServer(() => {});
    t.teardown(() => silent.stop());
    const slow = { ...webhook, url: silent.url };
    t.match(await failureOf(channelsOf({ webhook: slow }), "webhook"), {
      ...{ failure: "ETIMEDOUT", isFinal: false },
    });
  });

  t.test("a trial says which channel failed", async (t) => {
    Object.assign(exchange, { status: 200, reply: {} });
    const away = { ...telegram, api_url: "http://127.0.0.1:1" };
    t.strictSame(await channelsOf({ webhook, telegram: away }).test(), [
      { channel: "webhook", sent: true, failure: null },
      { channel: "telegram", sent: false, failure: "ECONNREFUSED" },
    ]);
  });
});
