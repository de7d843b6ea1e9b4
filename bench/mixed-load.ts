import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Directive } from "../test/support/provider/directive.ts";
import { admin } from "./gateway.ts";
import type { Target } from "./targets.ts";
import { CHAT_MODEL, chatCall, MESSAGES_MODEL, messagesCall, SHORT_ANSWER } from "./workload.ts";

/** Actions a second. Each keeps at most one connection busy. */
const RATE = 250;
const AT_ONCE_MAX = 400;
const TICK_MS = 20;
const TIMEOUT_MS = 60_000;
const LONG_BYTES = 300_000;
/** As many accounts as a gateway remembers the bucket of. */
const REMEMBERED = 10_000;
const FILLED_AT_ONCE = 8;
const STREAM: Directive = { output_tokens: 50, deltas: 50, event_delay_ms: 10 };

interface Action {
  readonly name: string;
  /** How often, relative to the others. */
  readonly share: number;
  /** The status of a good reply; several if it differs. */
  readonly expected: number;
  run(): Promise<number>;
}

export interface Done {
  readonly actions: number;
  readonly unexpected: number;
  readonly firstUnexpected: string | undefined;
}

/** Clients of all kinds: good ones, some that leave, strangers, and customers who come and go. */
export class MixedLoad {
  private readonly agent = new Agent({ keepAlive: true, timeout: TIMEOUT_MS });
  private readonly actions: readonly Action[];
  private made = 0;
  private running = 0;
  private done = { actions: 0, unexpected: 0, firstUnexpected: undefined as string | undefined };

  private constructor(
    private readonly gateway: Target,
    private readonly emptyKey: string,
  ) {
    this.actions = this.all();
  }

  static async of(gateway: Target): Promise<MixedLoad> {
    const { id } = await admin(gateway.port, "POST", "/accounts", { email: "empty@example.com" });
    const made = await admin(gateway.port, "POST", `/accounts/${id}/keys`, { name: "empty" });
    return new MixedLoad(gateway, String(made["key"]));
  }

  /** Fills what the gateway remembers of accounts: the load alone would take more than an hour. */
  async fill(): Promise<void> {
    const { port } = this.gateway;
    let filled = 0;
    const fillNext = async () => {
      while (filled < REMEMBERED) {
        const email = `fill-${process.pid}-${filled++}@example.com`;
        const { id } = await admin(port, "POST", "/accounts", { email });
        await admin(port, "GET", `/accounts/${id}/wallet`);
      }
    };
    await Promise.all(Array.from({ length: FILLED_AT_ONCE }, fillNext));
  }

  /** Starts actions at `RATE` for some seconds, and waits for them. */
  async run(seconds: number): Promise<Done> {
    this.done = { actions: 0, unexpected: 0, firstUnexpected: undefined };
    const beganMs = performance.now();
    const endMs = beganMs + seconds * 1000;
    const shares = this.actions.reduce((sum, { share }) => sum + share, 0);
    let started = 0;
    for (let nowMs = beganMs; nowMs < endMs; nowMs = performance.now()) {
      const due = ((nowMs - beganMs) / 1000) * RATE;
      for (; started < due; started++) {
        if (this.running >= AT_ONCE_MAX) continue;
        void this.start(this.actionAt(Math.random() * shares));
      }
      await delay(TICK_MS);
    }
    while (this.running > 0) await delay(TICK_MS);
    return { ...this.done };
  }

  end(): void {
    this.agent.destroy();
  }

  /** Returns the action in whose share of all a place falls. */
  private actionAt(place: number): Action {
    let end = 0;
    const found = this.actions.find(({ share }) => {
      end += share;
      return place < end;
    });
    return found ?? this.actions[0]!;
  }

  private async start({ name, expected, run }: Action): Promise<void> {
    this.running++;
    const status = await run().catch((error: unknown) => String(error));
    this.running--;
    this.done.actions++;
    if (status === expected) return;
    this.done.unexpected++;
    this.done.firstUnexpected ??= `${name}: ${status}`;
  }

  private all(): Action[] {
    const chat = chatCall(SHORT_ANSWER, false);
    const messages = messagesCall(SHORT_ANSWER, false);
    const chatStream = chatCall(STREAM, true);
    const messagesStream = messagesCall(STREAM, true);
    const translated = chatCall(SHORT_ANSWER, false, MESSAGES_MODEL);
    const translatedStream = messagesCall(STREAM, true, CHAT_MODEL);
    const long = JSON.parse(chat.body);
    long.messages[0].content = "a shelf by the window. ".repeat(LONG_BYTES / 23);
    const longChat = { ...chat, body: JSON.stringify(long) };
    const call = (of: typeof chat, key?: string) => () => this.post(of.path, of.body, { key });
    const leave = (of: typeof chat) => () => this.post(of.path, of.body, { leaves: true });
    return [
      { name: "chat", share: 50, expected: 200, run: call(chat) },
      { name: "messages", share: 40, expected: 200, run: call(messages) },
      { name: "stream of chat", share: 30, expected: 200, run: call(chatStream) },
      { name: "stream of messages", share: 30, expected: 200, run: call(messagesStream) },
      { name: "translated", share: 20, expected: 200, run: call(translated) },
      { name: "translated stream", share: 20, expected: 200, run: call(translatedStream) },
      { name: "long body", share: 4, expected: 200, run: call(longChat) },
      { name: "stream whose client leaves", share: 15, expected: 200, run: leave(chatStream) },
      { name: "call whose client leaves", share: 5, expected: 200, run: leave(translatedStream) },
      { name: "no JSON", share: 10, expected: 400, run: () => this.post(chat.path, '{"model":') },
      { name: "unknown key", share: 10, expected: 401, run: () => this.asStranger(chat) },
      { name: "empty wallet", share: 5, expected: 402, run: call(chat, this.emptyKey) },
      { name: "unknown path", share: 5, expected: 404, run: () => this.post("/v1/none", "{}") },
      { name: "list of models", share: 2, expected: 200, run: () => this.get("/v1/models") },
      { name: "metrics", share: 1, expected: 200, run: () => this.get("/metrics") },
      { name: "a customer's whole life", share: 2, expected: 401, run: () => this.life(chat) },
    ];
  }

  private asStranger({ path, body }: { path: string; body: string }): Promise<number> {
    return this.post(path, body, { key: `sk-tg-${Math.random().toString(36).repeat(4)}` });
  }

  /** Returns the status of a call with the key once it is revoked. */
  private async life({ path, body }: { path: string; body: string }): Promise<number> {
    const { port } = this.gateway;
    const name = `life-${process.pid}-${this.made++}`;
    const { id } = await admin(port, "POST", "/accounts", { email: `${name}@example.com` });
    const credit = { amount_vnd: "100000", reference: name };
    await admin(port, "POST", `/accounts/${id}/credits`, credit);
    const made = await admin(port, "POST", `/accounts/${id}/keys`, { name });
    const key = String(made["key"]);
    for (const stream of [false, true]) {
      const { body } = chatCall(SHORT_ANSWER, stream);
      const status = await this.post(path, body, { key });
      if (status !== 200) return status;
    }
    await admin(port, "POST", `/keys/${made["id"]}/revoke`);
    return this.post(path, body, { key });
  }

  private get(path: string): Promise<number> {
    return this.send("GET", path, this.gateway.headers, undefined, false);
  }

  private post(
    path: string,
    body: string,
    { key, leaves = false }: { key?: string | undefined; leaves?: boolean } = {},
  ): Promise<number> {
    const { headers } = this.gateway;
    const own = key === undefined ? headers : { authorization: `Bearer ${key}` };
    const all = { ...own, "content-type": "application/json" };
    return this.send("POST", path, all, body, leaves);
  }

  /** Resolves with the status when the reply has been read; if the client leaves, at its first bytes. */
  private send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | undefined,
    leaves: boolean,
  ): Promise<number> {
    const { port } = this.gateway;
    return new Promise((resolve, reject) => {
      const onReply = (reply: IncomingMessage) => {
        const status = reply.statusCode ?? 0;
        reply.once("error", reject);
        reply.once("end", () => resolve(status));
        reply.on("data", () => {
          if (!leaves) return;
          reply.destroy();
          resolve(status);
        });
      };
      const options = { host: "127.0.0.1", port, method, path, agent: this.agent };
      const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
      const outgoing = request({ ...options, headers: { ...headers, ...length } }, onReply);
      outgoing.once("error", (error: NodeJS.ErrnoException) => {
        // The gateway has closed an idle connection at that moment, so it has not read the request.
        const isStale = outgoing.reusedSocket && error.code === "ECONNRESET";
        if (isStale) this.send(method, path, headers, body, leaves).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(body);
    });
  }
}
