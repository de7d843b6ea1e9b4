import t from "tap";
import { assertBalance, billedCall, customerWith } from "../support/billed.ts";
import { startGateway } from "../support/gateway.ts";
import { bodies, deliveredText, openStream, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

t.test("settle's options", async (t) => {
  const gateway = await startGateway({
    plugins: {
      settle: {
        when_client_leaves: "drain",
        when_exhausted: "finish",
        topup_address: "https://pay.example/topup",
      },
    },
  });
  t.teardown(() => gateway.close());
  const tally = async (path: string) => (await gateway.simulator.stats())[path]!;

  t.test("when_client_leaves: drain", async (t) => {
    t.test("reads a stream on to its usage, and charges that", async (t) => {
      for (const [path, body] of [
        [paths.messages, bodies.messages],
        [paths.chat, bodies.chat],
        [paths.responses, bodies.responses],
      ] as const) {
        const customer = await customerWith(gateway);
        const before = await tally(path);
        const left = `left${path.replaceAll("/", "-")}`;
        const stream = await openStream(
          gateway,
          path,
          customer,
          body(
            {
              ...{ output_tokens: 800, input_tokens: 200 },
              ...{ silent_ms: 600_000, silent_after_events: 10, until: left },
            },
            { stream: true },
          ),
        );
        await stream.until((text) => text.includes("data: "));
        stream.leave();
        await gateway.simulator.release(left);
        const record = await billedCall(gateway, customer);
        t.strictSame([record["input_tokens"], record["output_tokens"]], [200, 800], path);
        t.equal(record["estimated"], false);
        const after = await tally(path);
        t.equal(after["completed"], before["completed"]! + 1);
        t.equal(after["aborted"], before["aborted"]);
      }
    });

    t.test("does the same for an unstreamed call", async () => {
      const customer = await customerWith(gateway);
      const before = await tally(paths.chat);
      const call = await openStream(
        gateway,
        paths.chat,
        customer,
        bodies.chat({
          ...{ output_tokens: 500, input_tokens: 1000 },
          ...{ delay_ms: 600_000, until: "left-whole" },
        }),
      );
      await until("the upstream is called", async () => {
        return (await tally(paths.chat))["calls"] === before["calls"]! + 1;
      });
      call.leave();
      await gateway.simulator.release("left-whole");
      await assertBalance(gateway, customer, "99997.75");
    });
  });

  t.test(
    "when_exhausted: finish lets a stream run on, and the excess is written off",
    async (t) => {
      // 2,500 tokens at 1,500 µđ.
      const customer = await customerWith(gateway, "3.75");
      const body = bodies.chat({ input_tokens: 100, output_tokens: 4900 }, { stream: true });
      const answer = await post(gateway, paths.chat, customer, body);
      t.equal(deliveredText(answer.text).length, 4 * 4900);
      t.ok(answer.text.endsWith("data: [DONE]\n\n"));
      const record = await billedCall(gateway, customer);
      t.equal(record["outcome"], "complete");
      t.equal(record["cost_vnd"], "3.75");
      t.equal(record["written_off_vnd"], "3.75");
      await assertBalance(gateway, customer, "0");
    },
  );

  t.test("topup_address is the address that a 402 names", async (t) => {
    const customer = await customerWith(gateway, "0.000001");
    const answer = await post(gateway, paths.messages, customer, bodies.messages());
    t.equal(answer.status, 402);
    t.match(answer.json.error.message, /Top up at https:\/\/pay\.example\/topup;/);
  });
});
