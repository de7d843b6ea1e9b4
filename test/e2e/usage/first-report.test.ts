import t from "tap";
import { committedWallet } from "../../support/admin.ts";
import { billedCalls, customerWith } from "../../support/billed.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

/** A model that does not reason by itself, so that its output is held a slice at a time. */
const MODEL = "claude-opus-4-8";
/** The input that a search of the provider can add to a request of a few words, at 40,000 đ per million: 14,560 đ. */
const INPUT = 364_000;

t.test("a first event that reports more input than is held", async (t) => {
  const gateway = await sharedGateway();

  const body = (more: object = {}) =>
    bodies.messages(
      { input_tokens: INPUT, text: "found", ...more },
      { stream: true, model: MODEL },
    );

  t.test("is held at once, and the stream goes on", async (t) => {
    const customer = await customerWith(gateway, 20_000);
    const { text } = await post(gateway, paths.messages, customer, body());
    t.match(text, /message_stop/);
    const [record] = await billedCalls(gateway, customer, 1);
    t.strictSame([record?.["input_tokens"], record?.["written_off_vnd"]], [INPUT, "0"]);
  });

  t.test("ends the stream if the wallet does not cover it, also of 20 at once", async (t) => {
    const customer = await customerWith(gateway, 30_000);
    // The rest of the stream waits, so that all of them run at once.
    const slow = body({ silent_ms: 500, silent_after_events: 1 });
    const calls = Array.from({ length: 20 }, () => post(gateway, paths.messages, customer, slow));
    const texts = (await Promise.all(calls)).map(({ text }) => text);
    const whole = texts.filter((text) => text.includes("message_stop"));
    const cut = texts.filter((text) => text.includes("insufficient_balance"));
    t.equal(whole.length, 2);
    t.equal(whole.length + cut.length, 20);
    for (const text of cut) t.notMatch(text, /found/);
    // The rest is the output that a whole stream held and did not use.
    const { balance, held } = await committedWallet(gateway, customer.accountId);
    t.ok(Number(balance) < 90 && held === "0", balance);
    for (const record of await billedCalls(gateway, customer, 20)) {
      t.not(record["cost_vnd"], "0");
    }
  });

  t.test(
    "a stream that runs past its own limit is held for, or cut, so that all of it is paid",
    async (t) => {
      // 10 tokens are asked for, and 10,000 come: 400 đ.
      const endless = { output_tokens: 10_000, ignore_max_tokens: true };
      const past = bodies.messages(endless, { stream: true, model: MODEL, max_tokens: 10 });
      for (const [creditVnd, ending] of [
        [1_000, "message_stop"],
        [50, "insufficient_balance"],
      ] as const) {
        const customer = await customerWith(gateway, creditVnd);
        const { text } = await post(gateway, paths.messages, customer, past);
        t.ok(text.includes(ending), ending);
        const [record] = await billedCalls(gateway, customer, 1);
        t.equal(record?.["written_off_vnd"], "0", ending);
        t.ok(Number(record?.["cost_vnd"]) > 20, String(record?.["cost_vnd"]));
      }
    },
  );
});
