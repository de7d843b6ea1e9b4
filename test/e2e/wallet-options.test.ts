import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, deliveredText, openStream, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

describe("settle's options", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      plugins: {
        settle: {
          when_client_leaves: "drain",
          when_exhausted: "finish",
          topup_address: "https://pay.example/topup",
        },
      },
    });
  });
  after(() => gateway.close());
  const tally = async (path: string) => (await gateway.simulator.stats())[path]!;

  describe("when_client_leaves: drain", () => {
    it("reads a stream on to its usage, and charges that", async () => {
      for (const [path, body] of [
        [paths.messages, bodies.messages],
        [paths.chat, bodies.chat],
        [paths.responses, bodies.responses],
      ] as const) {
        const customer = await customerWith(gateway);
        const before = await tally(path);
        const stream = await openStream(
          gateway,
          path,
          customer,
          body(
            { output_tokens: 800, input_tokens: 200, silent_ms: 300, silent_after_events: 10 },
            { stream: true },
          ),
        );
        await stream.until((text) => text.includes("data: "));
        stream.leave();
        const record = await billedCall(gateway, customer);
        assert.deepEqual([record["input_tokens"], record["output_tokens"]], [200, 800], path);
        assert.equal(record["estimated"], false);
        const after = await tally(path);
        assert.equal(after["completed"], before["completed"]! + 1);
        assert.equal(after["aborted"], before["aborted"]);
      }
    });

    it("does so for a call that is not streamed too", async () => {
      const customer = await customerWith(gateway);
      const before = await tally(paths.chat);
      const call = await openStream(
        gateway,
        paths.chat,
        customer,
        bodies.chat({ output_tokens: 500, input_tokens: 1000, delay_ms: 300 }),
      );
      await until("the upstream is asked", async () => {
        return (await tally(paths.chat))["calls"] === before["calls"]! + 1;
      });
      call.leave();
      await assertBalance(gateway, customer, "99997.75");
    });
  });

  it("when_exhausted: finish lets a stream run on, and the excess is written off", async () => {
    // 2,500 tokens at 1,500 µđ.
    const customer = await customerWith(gateway, "3.75");
    const body = bodies.chat({ input_tokens: 100, output_tokens: 4900 }, { stream: true });
    const answer = await post(gateway, paths.chat, customer, body);
    assert.equal(deliveredText(answer.text).length, 4 * 4900);
    assert.ok(answer.text.endsWith("data: [DONE]\n\n"));
    const record = await billedCall(gateway, customer);
    assert.equal(record["outcome"], "complete");
    assert.equal(record["cost_vnd"], "3.75");
    assert.equal(record["written_off_vnd"], "3.75");
    await assertBalance(gateway, customer, "0");
  });

  it("topup_address is where a 402 sends the customer", async () => {
    const customer = await customerWith(gateway, "0.000001");
    const answer = await post(gateway, paths.messages, customer, bodies.messages());
    assert.equal(answer.status, 402);
    assert.match(answer.json.error.message, /Top up at https:\/\/pay\.example\/topup;/);
  });
});
