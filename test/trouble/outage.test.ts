import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { arrayOf, isObject } from "../../core/process/json.ts";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight, spent } from "../support/proof.ts";
import { paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";
import { GOOD_REPLIES } from "./good-replies.ts";

/** Calls a second. */
const RATE = Number(process.env["RATE"] ?? 200);
const HEALTHY_MS = 3_000;
const TROUBLE_MS = 8_000;
const CREDIT_VND = 10_000_000;
const PRICE_VND_PER_MTOK = 10_000;
/** 30 tokens of input and 10 of output. */
const COST_MICRO_VND = 40n * BigInt(PRICE_VND_PER_MTOK);
const NAMES = ["a", "b", "c"] as const;
const TROUBLES = ["dies", "hangs", "throttles", "sends garbage"] as const;
type Trouble = (typeof TROUBLES)[number];

/** A provider that can be in trouble. */
class Provider {
  trouble: Trouble | undefined = undefined;
  /** Customers' calls so far; the gateway's own probes are none. */
  calls = 0;
  private server: Server | undefined = undefined;
  private port = 0;

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
    this.server.listen(this.port, "127.0.0.1");
    await once(this.server, "listening");
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (!server?.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    if (body.messages[0].content.startsWith("customer")) this.calls++;
    if (this.trouble === "hangs") return;
    if (this.trouble === "throttles") {
      const error = { type: "error", error: { type: "rate_limit_error", message: "Too many." } };
      response.writeHead(429, { "content-type": "application/json", "retry-after": "2" });
      response.end(JSON.stringify(error));
    } else if (this.trouble === "sends garbage") {
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>");
    } else {
      const { whole, preamble, rest } = GOOD_REPLIES.messages;
      const type = body.stream ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type });
      response.end(body.stream ? [...preamble, ...rest].join("") : JSON.stringify(whole));
    }
  }
}

/** Calls at a steady rate, streamed and not. */
class Load {
  readonly failures: string[] = [];
  /** The slowest call that began since this was last set to 0, in ms. */
  slowestMs = 0;
  made = 0;
  private readonly running = new Set<Promise<void>>();
  private isOver = false;
  private readonly work: Promise<void>;
  private phase = 0;

  constructor(
    private readonly gateway: TestGateway,
    private readonly customer: Customer,
  ) {
    this.work = this.run();
  }

  /** Forgets how slow the calls so far were, and those that are under way. */
  restart(): void {
    this.slowestMs = 0;
    this.phase++;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.work;
    await Promise.all(this.running);
  }

  private async run(): Promise<void> {
    const beganMs = performance.now();
    while (!this.isOver) {
      const due = ((performance.now() - beganMs) / 1_000) * RATE;
      while (this.made < due) {
        const call = this.call(this.made++).finally(() => this.running.delete(call));
        this.running.add(call);
      }
      await delay(5);
    }
  }

  private async call(at: number): Promise<void> {
    const { phase } = this;
    const beganMs = performance.now();
    // As many conversations as calls, so that they spread.
    const messages = [{ role: "user", content: `customer's call ${at}` }];
    const body = { model: "m", stream: at % 2 === 0, max_tokens: 100, messages };
    const { status, text } = await post(this.gateway, paths.messages, this.customer, body).catch(
      (error) => ({ status: 0, text: String(error) }),
    );
    if (phase === this.phase) {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
    }
    const isWhole = text.includes(at % 2 === 0 ? "message_stop" : "served");
    if (status !== 200 || !isWhole) this.failures.push(`${status} ${text.slice(0, 200)}`);
  }
}

t.setTimeout(600_000);

t.test("one of three upstreams in trouble under load", { timeout: 600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const providers = NAMES.map(() => new Provider());
  let gateway: TestGateway;
  t.before(async () => {
    await Promise.all(providers.map((provider) => provider.start()));
    const model = {
      id: "m",
      price_vnd_per_mtok: PRICE_VND_PER_MTOK,
      context_window: 100_000,
      max_output_tokens: 1_000,
      labels: ["streaming"],
      standard: "messages",
      routes: NAMES.map((upstream) => ({ upstream, model: "m" })),
    };
    const catalogue = join(folder, "catalogue.yaml");
    writeFileSync(catalogue, JSON.stringify({ models: [model] }));
    const upstreams = Object.fromEntries(
      NAMES.map((name, at) => [
        name,
        {
          protocols: { messages: providers[at]?.url },
          keys: [`key-of-${name}-1`, `key-of-${name}-2`],
          first_byte_seconds: 2,
          reply_seconds: 2,
        },
      ]),
    );
    gateway = await startGateway({
      config: { catalogue, upstreams },
      plugins: { alias: { default_family: "any", families: { any: "m" } } },
    });
  });
  t.teardown(async () => {
    await gateway.close();
    await Promise.all(providers.map((provider) => provider.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  /** True while the gateway sends the upstream no calls: its breaker is open, or its keys rest. */
  async function isLeft(name: string): Promise<boolean> {
    const { body } = await admin(gateway, "GET", "/upstreams");
    const upstream = arrayOf(body["upstreams"])
      .filter(isObject)
      .find((one) => one["name"] === name);
    assert.ok(upstream);
    const isResting = (key: unknown) => isObject(key) && arrayOf(key["rests"]).length > 0;
    return upstream["breaker"] !== "closed" || arrayOf(upstream["keys"]).every(isResting);
  }

  t.test("costs no call, and gets calls again once it is well", async (t) => {
    const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
    const load = new Load(gateway, customer);
    const figures: string[] = [];
    for (const [at, trouble] of TROUBLES.entries()) {
      const name = NAMES[at % NAMES.length] ?? "a";
      const provider = providers[at % NAMES.length];
      assert.ok(provider);
      load.restart();
      await delay(HEALTHY_MS);
      const healthyMs = load.slowestMs;

      provider.trouble = trouble;
      if (trouble === "dies") await provider.stop();
      const beganMs = performance.now();
      await until(`${name} gets no more calls`, () => isLeft(name));
      const openedMs = performance.now() - beganMs;
      load.restart();
      const before = provider.calls;
      await delay(TROUBLE_MS);
      const slowestMs = load.slowestMs;
      const reached = provider.calls - before;
      // A key that has rested is probed by a call, which is refused at once.
      if (trouble !== "throttles") {
        t.ok(reached <= RATE / 10, `${reached} calls reached ${name}, which ${trouble}`);
      }

      provider.trouble = undefined;
      if (trouble === "dies") await provider.start();
      const healedMs = performance.now();
      const then = provider.calls;
      await until(`${name} is well and gets calls again`, async () => {
        return provider.calls > then + RATE / 10 && !(await isLeft(name));
      });
      const recoveredMs = performance.now() - healedMs;
      const [healthy, opened, slowest, recovered] = [
        healthyMs,
        openedMs,
        slowestMs,
        recoveredMs,
      ].map((ms) => `${Math.round(ms)} ms`);
      figures.push(
        `${name} ${trouble}: slowest call before ${healthy}, left after ${opened}, slowest call then ${slowest}, calls again after ${recovered}`,
      );
    }
    await load.stop();
    for (const figure of figures) t.comment(figure);
    t.comment(`${load.made} calls at ${RATE} a second`);
    t.strictSame(load.failures, []);
    await noCallsInFlight(gateway);
    t.equal(
      await spent(gateway, customer.accountId, CREDIT_VND),
      BigInt(load.made) * COST_MICRO_VND,
    );
    await assertReconciled(gateway);
  });
});
