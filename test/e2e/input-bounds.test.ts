import t from "tap";
import { committedWallet, usage } from "../support/admin.ts";
import { customerWith } from "../support/billed.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

type Chat = "messages" | "chat" | "responses";

const CALLS = 10;
const CAP = 16;

const weather = {
  description: "The weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const { input_schema: parameters, description } = weather;
const tool = { name: "weather", ...weather };
const functionTool = { type: "function", function: { name: "weather", description, parameters } };

/** A PDF of nearly empty pages, some 50 bytes each. */
const pdf = Buffer.from(
  `%PDF-1.4\n${Array.from({ length: 600 }, (_, at) => `${at} 0 obj<</Type/Page/Parent 2 0 R>>endobj\n`).join("")}`,
).toString("base64");
const documentOf = (data: string) => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data },
});

interface Row {
  readonly what: string;
  readonly protocol: Chat;
  readonly model: string;
  readonly more: (text: string) => object;
  /** The input that the provider counts, as it was recorded or measured. */
  readonly reported: number;
  /** Covers the bytes of the request and the output, but not the reported input. */
  readonly poorVnd: number;
  /** Covers the reported input of two calls, but not of ten. */
  readonly richVnd: number;
}

const rows: readonly Row[] = [
  {
    what: "tools of Claude",
    protocol: "messages",
    model: "claude-opus-5-5",
    more: () => ({ max_tokens: CAP, tools: [tool] }),
    reported: 640,
    poorVnd: 12,
    richVnd: 80,
  },
  {
    what: "tools of Claude for a Chat client",
    protocol: "chat",
    model: "claude-opus-5-5",
    more: () => ({ max_completion_tokens: CAP, tools: [functionTool] }),
    reported: 640,
    poorVnd: 12,
    richVnd: 80,
  },
  {
    what: "the prompt that xAI adds to each request",
    protocol: "chat",
    model: "grok-4.5",
    more: () => ({ max_completion_tokens: CAP }),
    reported: 210,
    poorVnd: 2,
    richVnd: 12,
  },
  {
    what: "the pages of a small PDF",
    protocol: "messages",
    model: "claude-opus-5-5",
    more: (text) => ({
      max_tokens: CAP,
      messages: [{ role: "user", content: [{ type: "text", text }, documentOf(pdf)] }],
    }),
    reported: 940_000,
    poorVnd: 10_000,
    richVnd: 80_000,
  },
  {
    what: "an image by address on Responses",
    protocol: "responses",
    model: "gpt-4.1-nano",
    more: (text) => ({
      max_output_tokens: CAP,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text },
            { type: "input_image", image_url: "https://example.com/a.png" },
          ],
        },
      ],
    }),
    reported: 2_600,
    poorVnd: 2,
    richVnd: 13,
  },
];

t.test("input that the text of a request does not show is held for", async (t) => {
  const gateway = await sharedGateway();

  /** Sends the calls at once. Returns how many were served, and refused for want of money. */
  async function served({ protocol, model, more, reported }: Row, creditVnd: number) {
    const customer = await customerWith(gateway, creditVnd);
    const directive = { input_tokens: reported, text: "Fine." };
    const plain = bodies[protocol](directive, { model });
    const text = "input" in plain ? plain.input : (plain.messages[0]?.content ?? "");
    const body = { ...plain, ...more(text) };
    const answers = await Promise.all(
      Array.from({ length: CALLS }, () => post(gateway, paths[protocol], customer, body)),
    );
    await committedWallet(gateway, customer.accountId);
    for (const record of await usage(gateway, customer.accountId)) {
      t.equal(record["written_off_vnd"], "0", "nothing is written off");
    }
    const statuses = answers.map(({ status }) => status);
    return [200, 402].map((wanted) => statuses.filter((status) => status === wanted).length);
  }

  for (const row of rows) {
    t.test(row.what, async (t) => {
      t.strictSame(await served(row, row.poorVnd), [0, CALLS], "too poor for one");
      const [some = 0, refused = 0] = await served(row, row.richVnd);
      t.ok(some >= 1 && some < CALLS, `${some} served`);
      t.equal(some + refused, CALLS);
    });
  }
});
