import assert from "node:assert/strict";
import t from "tap";
import { isRefusal } from "../../../core/contract/refusal.ts";
import { readBody } from "../../../core/http/body.ts";
import { BodyBudget } from "../../../core/http/body-budget.ts";
import { readJsonBody } from "../../../core/http/json-body.ts";
import type { HttpResponse } from "../../../core/listener/index.ts";
import { JSON_LEVELS_MAX } from "../../../core/process/json.ts";

t.test("the depth of a request body", async (t) => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    for (const padding of [0, 1_000, 5_000]) {
      t.test(`has one limit for every size: ${open} with ${padding} bytes more`, async (t) => {
        const body = (levels: number) => {
          const inner = levels - 1;
          const value = `${open.repeat(inner)}1${close.repeat(inner)}`;
          return Buffer.from(`{"x":${value}}${" ".repeat(padding)}`);
        };
        t.ok(!isRefusal(readJsonBody(body(JSON_LEVELS_MAX))));
        const refused = readJsonBody(body(JSON_LEVELS_MAX + 1));
        assert.ok(isRefusal(refused));
        t.equal(refused.status, 400);
        t.match(refused.message, /nested too deeply/);
      });
    }
  }
});

t.test("the body of a call that is not admitted yet", async (t) => {
  const limits = { bytesMax: 1e9, bodyBytesMax: 1e9, bodiesMax: 10 };
  const begin = () => {
    const asked: string[] = [];
    let arrive: (lent: ArrayBuffer, isLast: boolean) => void = () => {};
    const response = {
      onData: (handler: typeof arrive) => {
        arrive = handler;
      },
      pause: () => asked.push("pause"),
      resume: () => asked.push("resume"),
    };
    const share = new BodyBudget(limits).open();
    const onWhole = (body: Buffer) => asked.push(`whole ${body.length}`);
    const tooLarge = () => asked.push("too large");
    const reading = readBody(response as unknown as HttpResponse, 1e9, onWhole, tooLarge, share);
    return {
      asked,
      reading,
      send: (bytes: number, isLast = false) => arrive(new ArrayBuffer(bytes), isLast),
    };
  };

  t.test("is read no further than 64 KB, and to its end once it is admitted", async (t) => {
    const { asked, reading, send } = begin();
    send(65_535);
    t.strictSame(asked, []);
    send(1);
    send(10);
    t.strictSame(asked, ["pause"], "the socket may still deliver what it has");
    reading.admit();
    send(100_000);
    send(4, true);
    t.strictSame(asked, ["pause", "resume", "whole 165550"]);
  });

  t.test("is read on, and dropped, if it is refused", async (t) => {
    const { asked, reading, send } = begin();
    send(100_000);
    reading.discard();
    send(100_000);
    send(0, true);
    t.strictSame(asked, ["pause", "resume", "whole 0"]);
  });

  t.test("is never paused if it is admitted at once, or short", async (t) => {
    const admitted = begin();
    admitted.reading.admit();
    admitted.send(1_000_000);
    t.strictSame(admitted.asked, []);
    const short = begin();
    short.send(70_000, true);
    t.strictSame(short.asked, ["whole 70000"]);
  });
});

t.test(
  "a number with more digits than a parser keeps does not leave as it came, since no bound counts them",
  async (t) => {
    const read = (number: string) => {
      const body = readJsonBody(
        Buffer.from(`{"model":"m","tools":[{"enum":[ ${number} ,1]}],"n":${number} }`),
      );
      assert.ok(!isRefusal(body));
      return body.isHandedOut;
    };
    t.equal(read("9".repeat(25)), false);
    t.equal(read("9".repeat(26)), true);
    t.equal(read(`-1.${"0".repeat(4_000)}e1`), true);
    t.equal(read(`1${" ".repeat(40)}`), false);
  },
);

t.test(
  "a body that announces more than its key's share is refused before it arrives",
  async (t) => {
    const budget = new BodyBudget({ bytesMax: 4_000_000, bodyBytesMax: 1_000_000, bodiesMax: 10 });
    const [one, two, three, other] = [budget.open(), budget.open(), budget.open(), budget.open()];
    t.equal(one.ofKey("a", 900_000), undefined);
    t.equal(one.add(900_000), undefined, "its bytes are counted already");
    t.equal(two.ofKey("a", 200_000)?.status, 429);
    t.equal(other.ofKey("b", 900_000), undefined);
    t.equal(three.ofKey("a", 10_000), undefined, "a short one is served");
    t.equal(three.add(200_000)?.status, 429, "unless it is longer than announced");
    one.release();
    three.release();
    t.equal(budget.open().ofKey("a", 1_000_000), undefined);
  },
);

t.test(
  "of long bodies that hold no money, a key may send one at a time, and all keys few",
  async (t) => {
    const budget = new BodyBudget({
      bytesMax: 16_000_000,
      bodyBytesMax: 1_000_000,
      bodiesMax: 100,
    });
    const free = (key: string, bytes: number) => {
      const share = budget.open();
      return { share, refused: share.ofKey(key, bytes, true)?.status };
    };
    const first = free("a", 900_000);
    t.equal(first.refused, undefined);
    t.equal(free("a", 200_000).refused, 429);
    t.equal(free("a", 20_000).refused, undefined, "a short one is read beside it");
    t.equal(budget.open().ofKey("a", 900_000), undefined, "a call of the same key is read");
    t.equal(free("b", 1_000_000).refused, undefined);
    t.equal(free("c", 200_000).refused, 503, "an eighth of the budget is for such bodies");
    first.share.release();
    t.equal(free("c", 200_000).refused, undefined);
    const chunked = free("d", 0);
    t.equal(chunked.refused, undefined);
    t.equal(
      chunked.share.add(900_000)?.status,
      503,
      "one that announces nothing is counted as it arrives",
    );
  },
);
