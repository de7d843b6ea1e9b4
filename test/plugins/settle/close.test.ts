import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import { refuse, type Sink, Usage } from "../../../core/plugin/index.ts";
import settle from "../../../plugins/settle/index.ts";
import {
  type Desk,
  deskOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  priced,
  replyHeaders,
  SETTLE_SETTINGS,
} from "../../support/plugin-desk.ts";

const perCall = modelOf({ price: priced("call", 5_000) });

const perImage = modelOf({ price: priced("image", 5_000) });
const IMAGES = "/v1/images/generations";
const heldBack = { outcome: "exhausted", delivered: false } as const;
const left = { outcome: "gone", status: 499, delivered: false } as const;

/** A call that was held and sent upstream, and delivered a reply of 10 + 20 tokens. */
async function served(
  desk: Desk,
  { body, ...changes }: PreparedChanges = {},
  path?: string,
): Promise<{ call: HttpCall; close: () => void | Promise<void> }> {
  const plugin = settle(desk.services, SETTLE_SETTINGS);
  const call = preparedCall({ model: changes.model ?? modelOf(), ...(body && { body }) }, path);
  await plugin.request?.(call);
  const usage = Object.assign(new Usage(), { inputTokens: 10, outputTokens: 20 });
  const reply = { attempts: 1, status: 200, delivered: true, outcome: "complete", usage };
  Object.assign(call, reply, changes);
  call.replyHeaders.length = 0;
  return { call, close: () => plugin.close?.(call) };
}

t.test("a call that ends is charged by its status and what was delivered", async (t) => {
  const table: [string, PreparedChanges, number, string?][] = [
    ["a whole reply", {}, 60],
    ["a client that left", { outcome: "gone", status: 200 }, 60],
    ["one that left before a status was sent", { ...left, taken: true }, 60],
    ["one that left before the provider had the call", { ...left, taken: false }, 0],
    ["one that left a reply that was finished", { outcome: "left" }, 60],
    ["one that left what the provider refused", { outcome: "refused", status: 400 }, 0],
    ["one that left what broke", { outcome: "broken", delivered: false, status: 502 }, 0],
    ["a fixed price that was left", { ...left, taken: true, model: perCall }, 5_000],
    [
      "images that were left",
      { ...left, taken: true, model: perImage, body: { n: 3 } },
      15_000,
      IMAGES,
    ],
    ["images not yet sent", { ...left, taken: false, model: perImage, body: { n: 3 } }, 0, IMAGES],
    ["a wallet that ran out", { outcome: "exhausted" }, 60],
    ["one that ran out before the text was passed on", { ...heldBack, deliveredTokens: 20 }, 60],
    ["one that ran out before any output", heldBack, 0],
    ["an upstream that broke off", { outcome: "broken" }, 60],
    ["nothing delivered", { outcome: "broken", delivered: false }, 0],
    ["refused by the upstream", { outcome: "refused", status: 429 }, 0],
    ["a refusal in a reply of 200", { outcome: "refused" }, 0],
    ["a broken reply at another status", { outcome: "broken", status: 502 }, 0],
    ["a fixed price", { model: perCall }, 5_000],
    ["a fixed price for a broken reply", { model: perCall, outcome: "broken" }, 0],
  ];
  for (const [what, changes, cost, path] of table) {
    const desk = deskOf();
    const { call, close } = await served(desk, changes, path);
    t.equal(close(), undefined, `${what}: without a promise`);
    t.equal(desk.wallets.posts[0]?.costMicroVnd, cost, what);
    t.equal(call.costMicroVnd, cost, what);
    t.strictSame(desk.wallets.voids, [], what);
  }
});

t.test("an advisor costs what it did when the call began", async (t) => {
  const advisors = [3, 5].map((price) => modelOf({ id: "advisor", price: priced("mtok", price) }));
  const [old, dearer] = advisors.map((advisor) => new Catalogue([modelOf(), advisor]));
  const desk = deskOf({ catalogue: old });
  const { call, close } = await served(desk);
  const cache = { cacheReadTokens: 0, cacheWriteTokens: 0 };
  const passes = [{ model: "advisor", inputTokens: 1, outputTokens: 1, ...cache }];
  Object.assign(call.usage ?? {}, { passes });
  Object.assign(desk.services, { catalogue: dearer });
  close();
  t.equal(desk.wallets.posts[0]?.costMicroVnd, 28 * 2 + 2 * 3);
});

t.test("a call that never went upstream gives its hold back and leaves no record", async (t) => {
  for (const isLate of [false, true]) {
    const desk = deskOf();
    desk.wallets.onVoid = () => (isLate ? Promise.resolve() : undefined);
    const { close } = await served(desk, { attempts: 0, status: 502, delivered: false });
    const closing = close();
    t.equal(closing instanceof Promise, isLate, "waits only if the store does");
    await closing;
    t.strictSame([desk.wallets.voids, desk.wallets.posts], [["id A"], []]);
  }
});

t.test("a call without a hold is neither posted nor voided", async (t) => {
  for (const missing of [{ held: undefined }, { key: undefined }]) {
    const desk = deskOf();
    const { close } = await served(desk, missing);
    t.equal(close(), undefined);
    t.strictSame([desk.wallets.voids, desk.wallets.posts], [[], []]);
  }
});

t.test("the cost", async (t) => {
  t.test("is a header of a reply of 200, in đ, once the post is durable", async (t) => {
    const desk = deskOf();
    let post: () => void = () => {};
    desk.wallets.onPost = () =>
      new Promise((resolve) => {
        post = () => resolve({ chargedMicroVnd: 50, writtenOffMicroVnd: 10, duplicate: false });
      });
    const { call, close } = await served(desk);
    const closing = close();
    t.strictSame(call.replyHeaders, []);
    post();
    await closing;
    t.strictSame(replyHeaders(call), {
      "x-svc-cost-vnd": "0.00005",
      "x-svc-written-off-vnd": "0.00001",
    });
    t.strictSame([call.costMicroVnd, call.writtenOffMicroVnd], [50, 10]);
  });

  t.test("is no header of another status", async (t) => {
    const { call, close } = await served(deskOf(), { status: 429, outcome: "refused" });
    close();
    t.strictSame(call.replyHeaders, []);
  });

  t.test("is a header of audio before it is charged, if the reply is audio", async (t) => {
    const spoken = { model: perCall };
    for (const status of [200, 502]) {
      const desk = deskOf();
      const { call, close } = await served(desk, spoken, "/v1/audio/speech");
      const seen: string[] = [];
      const client: Sink = {
        head: (code) => seen.push(`head ${code}`),
        event: () => seen.push("event"),
        data: (bytes) => seen.push(`data ${bytes.length}`),
        end: ({ kind }) => seen.push(`end ${kind}`),
      };
      const sink = settle(desk.services, SETTLE_SETTINGS).stream?.(call, client);
      sink?.head(status, []);
      sink?.data(Buffer.alloc(3));
      sink?.event({} as never);
      sink?.end({ kind: "complete" });
      close();
      t.strictSame(seen, [`head ${status}`, "data 3", "event", "end complete"]);
      const expected = status === 200 ? { "x-svc-cost-vnd": "0.005" } : {};
      t.strictSame(replyHeaders(call), expected, "once, and only for audio");
    }
  });
});

t.test("a post that no store takes ends the call with an error, and", async (t) => {
  async function failing(changes: PreparedChanges, path?: string): Promise<Desk> {
    const desk = deskOf();
    desk.wallets.onPost = () => Promise.reject(new Error("no store"));
    const { close } = await served(desk, changes, path);
    await t.rejects(Promise.resolve(close()), /no store/);
    return desk;
  }

  t.test("is posted later if a stream has delivered its text", async (t) => {
    const { wallets } = await failing({ stream: true });
    t.strictSame(wallets.latePosts, wallets.posts);
    t.strictSame(wallets.voids, []);
  });

  t.test("is voided if all that it sells was withheld, or nothing delivered", async (t) => {
    const image = { stream: true, model: perImage, body: { stream: true } };
    for (const [changes, path] of [
      [{ replyBody: {} }],
      [{ delivered: false }],
      [image, IMAGES],
    ] as const) {
      const { wallets } = await failing(changes, path);
      t.strictSame([wallets.latePosts, wallets.voids], [[], ["id A"]]);
    }
  });
});

t.test("the record of a call", async (t) => {
  t.test("has its names, usage, price and times", async (t) => {
    const desk = deskOf();
    const { close } = await served(desk, {
      startedMs: 999_000,
      firstByteAtMs: 999_250.4,
      route: {
        upstream: "main",
        model: "m",
        weight: 1,
        priority: 1,
        profile: {} as never,
        features: {},
      },
      mappedFrom: "gpt-x",
      purses: [{ name: "day", limitMicroVnd: 1, refusal: () => refuse.rateLimited("") }],
      estimated: true,
      stream: true,
    });
    desk.nowMs = 1_000_000.6;
    close();
    t.match(desk.wallets.posts[0], {
      callId: "id",
      accountId: "A",
      keyId: "K",
      endpoint: "/v1/messages",
      model: "sim-large",
      mappedFrom: "gpt-x",
      upstream: "main",
      inputTokens: 10,
      outputTokens: 20,
      latencyMs: 1_001,
      firstByteMs: 250,
      status: 200,
      streamed: true,
      outcome: "complete",
      estimated: true,
      unit: "mtok",
      unitPriceMicroVnd: 2_000_000,
      discountBps: 0,
      costMicroVnd: 60,
      catalogueVersion: "v1",
      purses: ["day"],
    });
  });

  t.test("has no first byte, route or purses if there were none", async (t) => {
    const desk = deskOf();
    const { close } = await served(desk, { outcome: undefined });
    close();
    const { firstByteMs, upstream, purses, mappedFrom, outcome } = desk.wallets.posts[0] ?? {};
    t.strictSame([firstByteMs, upstream, purses, mappedFrom], [null, null, null, null]);
    t.equal(outcome, "complete");
  });
});
