import t from "tap";
import { overflowForMessages, overflowSizes } from "../../../core/wire/overflow.ts";

/** The sizes, `none` if the error does not say both, and the error. */
const ERRORS = `
  215692>200000   prompt is too long: 215692 tokens > 200000 maximum
  210000>200000   input length and \`max_tokens\` exceed context limit: 190000 + 20000 > 200000, decrease input length
  4179>4097       This model's maximum context length is 4097 tokens, however you requested 4179 tokens (79 in your prompt)
  150000>131072   This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of text input)
  9000>8192       This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens.
  4205>4096       This model's maximum context length is 4,096 tokens. However, your messages resulted in 4,205 tokens.
  1200000>1048576 The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
  600000>500000   This model's maximum prompt length is 500000 but the request contains 600000 tokens.
  300000>262144   Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)
  40000>32768     Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
  none            This model's maximum context length is 128000 tokens (request 20261123084106)
  none            prompt is too long, request 9876543210, trace 1234567890
  none            Range of input length should be [1, 997952] (request 8812345678)
  none            context window exceeds limit (2013), id 1763887266123
  none            This model's maximum context length is 8192 tokens. However, you requested 4096 tokens.
`;

t.test("the sizes of an overflow are read only from the sentences that say them", async (t) => {
  for (const line of ERRORS.trim().split("\n")) {
    const [, expected = "", message = ""] = /^\s*(\S+)\s+(.*)$/.exec(line) ?? [];
    const sizes = overflowSizes(message);
    t.equal(sizes ? `${sizes.tokens}>${sizes.window}` : "none", expected, message);
  }
});

t.test("an id in an error is not taken for the size of the request", async (t) => {
  const message = "This model's maximum context length is 8192 tokens. Request id: 1763887266123.";
  const said = overflowForMessages(message, overflowSizes(message));
  t.equal(said, `prompt is too long: ${message}`);
});
