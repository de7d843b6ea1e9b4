import t from "tap";
import { committedWallet, usage } from "../../support/admin.ts";
import { customerWith } from "../../support/billed.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

const STREAMS = 10;
/** 15,000 tokens, of which a reader sees 100. */
const THOUGHT = { output_tokens: 15_000, reasoning_tokens: 14_900, text: "Fine." };
/** So cheap that all streams are paid, even if some have ended before the last one starts. */
const NOT_THOUGHT = { output_tokens: 100, text: "Fine." };

t.test("streams of reasoning that is not shown, all at once on a small wallet", async (t) => {
  const gateway = await sharedGateway();

  /** Returns the statuses of all streams, and what was charged and written off. */
  async function streams(
    protocol: "messages" | "chat" | "responses",
    more: object,
    creditVnd: number,
    reply: object = THOUGHT,
  ) {
    const customer = await customerWith(gateway, creditVnd);
    const body = bodies[protocol](reply, { model: "gpt-5.6-sol", stream: true, ...more });
    const answers = await Promise.all(
      Array.from({ length: STREAMS }, () => post(gateway, paths[protocol], customer, body)),
    );
    const { held } = await committedWallet(gateway, customer.accountId);
    t.equal(held, "0");
    const records = await usage(gateway, customer.accountId);
    return {
      statuses: answers.map(({ status }) => status),
      writtenOff: records.map((record) => record["written_off_vnd"]),
    };
  }

  const rows = [
    ["chat", {}],
    ["chat", { reasoning_effort: "high", max_completion_tokens: 20_000 }],
    ["responses", {}],
    ["messages", { model: "claude-opus-4-8", max_tokens: 20_000, thinking: { type: "adaptive" } }],
    // These think if nothing is asked, and the second one also if it is asked not to.
    ["messages", { model: "claude-opus-5", max_tokens: 20_000 }],
    ["messages", { model: "claude-opus-5-5", max_tokens: 20_000, thinking: { type: "disabled" } }],
    ["chat", { model: "claude-opus-5", max_tokens: 20_000 }],
  ] as const;
  for (const [protocol, more] of rows) {
    t.test(`write nothing off: ${protocol} ${JSON.stringify(more)}`, async (t) => {
      const { statuses, writtenOff } = await streams(protocol, more, 600);
      t.ok(statuses.includes(200), statuses.join());
      t.ok(
        statuses.every((status) => status === 200 || status === 402),
        statuses.join(),
      );
      t.ok(
        writtenOff.every((vnd) => vnd === "0"),
        writtenOff.join(),
      );
    });
  }

  const quiet = [
    ["chat", { reasoning_effort: "none", max_completion_tokens: 20_000 }],
    ["messages", { model: "claude-opus-4-8", max_tokens: 20_000 }],
    ["messages", { model: "claude-opus-5", max_tokens: 20_000, thinking: { type: "disabled" } }],
  ] as const;
  for (const [protocol, more] of quiet) {
    t.test(`run side by side if they do not reason: ${JSON.stringify(more)}`, async (t) => {
      const { statuses } = await streams(protocol, more, 2_000, NOT_THOUGHT);
      t.ok(
        statuses.every((status) => status === 200),
        statuses.join(),
      );
    });
  }
});
