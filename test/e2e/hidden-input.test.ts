import t from "tap";
import { committedWallet, usage } from "../support/admin.ts";
import { customerWith } from "../support/billed.ts";
import { startGateway } from "../support/gateway.ts";
import { microVnd } from "../support/proof.ts";
import { asking, paths, post } from "../support/requests.ts";

type Chat = "messages" | "chat" | "responses";

const CREDIT_VND = 50_000;
const CALLS = 100;
/** The input that a provider counts for a request of a few words, as recorded of a web search. */
const REPORTED = { input_tokens: 404_500, text: "Found." };
/** More than such a call costs at any of the models here. */
const CALL_VND_MAX = 20_000;
const ADDRESS = "https://files.example.com/a";

const ALLOWED = {
  ...{ web_search: {}, web_fetch: {}, file_search: { i_accept_shared_ids: true } },
  ...{ code_execution: {}, mcp: {}, hosted_shell: {}, advisor: {}, remote_files: {} },
  ...{ containers: { i_accept_shared_ids: true }, files: { i_accept_shared_ids: true } },
  stored_state: { i_accept_shared_ids: true },
};

/** A model of an upstream that sells features, and one of an upstream that does not. */
const MODELS = {
  messages: { sold: "claude-opus-5-5", unsold: "svc/claude-opus-5-5" },
  chat: { sold: "gpt-5.6-sol", unsold: "grok-4.5" },
  responses: { sold: "gpt-5.6-sol", unsold: "grok-4.5" },
};

const PROMPT = asking(REPORTED);
const user = (...parts: readonly object[]) => [{ role: "user", content: parts }];
const text = { type: "text", text: PROMPT };
const tool = (type: string, more: object = {}) => ({ tools: [{ type, name: "t", ...more }] });

/** OpenAI has no such part: Mistral does. */
const NOT_AT_OPENAI = "document_url";

/** Claude refuses the field without it. */
const BETAS = { "anthropic-beta": "mcp-client-2025-11-20" };

/** Each kind of input that a request does not show. */
const KINDS: Readonly<Record<Chat, Readonly<Record<string, object>>>> = {
  messages: {
    "web search": tool("web_search_20250305", { name: "web_search" }),
    "web fetch": tool("web_fetch_20250910", { name: "web_fetch" }),
    "code execution": tool("code_execution_20250825", { name: "code_execution" }),
    advisor: tool("advisor_20260301", { name: "advisor", model: "claude-opus-5" }),
    MCP: { mcp_servers: [{ type: "url", url: ADDRESS, name: "a" }] },
    "a container": { container: "container_1" },
    "a document by address": {
      messages: user({ type: "document", source: { type: "url", url: ADDRESS } }, text),
    },
    "a file by id": {
      messages: user({ type: "document", source: { type: "file", file_id: "f" } }, text),
    },
  },
  chat: {
    "web search": { web_search_options: {} },
    "a file by id": { messages: user({ type: "file", file: { file_id: "f" } }, text) },
    "a document by address": {
      messages: user({ type: "document_url", document_url: ADDRESS }, text),
    },
  },
  responses: {
    "web search that is demanded": { ...tool("web_search"), tool_choice: { type: "web_search" } },
    "file search": tool("file_search", { vector_store_ids: ["v"] }),
    "a code interpreter": tool("code_interpreter", { container: { type: "auto" } }),
    MCP: tool("mcp", { server_label: "a", server_url: ADDRESS }),
    "an earlier response": { previous_response_id: "resp_1" },
    "a conversation": { conversation: "conv_1" },
    "a stored prompt": { prompt: { id: "pmpt_1" } },
    "a file by id": {
      input: user({ type: "input_file", file_id: "f" }, { type: "input_text", text: PROMPT }),
    },
  },
};

const plain = {
  messages: { max_tokens: 16, messages: [{ role: "user", content: PROMPT }] },
  chat: { max_completion_tokens: 16, messages: [{ role: "user", content: PROMPT }] },
  responses: { max_output_tokens: 16, input: PROMPT },
};

t.test(`${CALLS} calls at once with input that no request shows, on 50,000 đ`, async (t) => {
  const sold = { features: ALLOWED };
  const gateway = await startGateway({
    config: { upstreams: { anthropic: sold, openai: sold } },
    plugins: { alias: { unknown: "refuse" } },
  });
  t.teardown(() => gateway.close());

  /** Sends the calls. Returns their statuses, what is left, and what was written off, in µđ. */
  async function outcome(protocol: Chat, kind: object, model: string) {
    const customer = await customerWith(gateway, CREDIT_VND);
    const body = { model, ...plain[protocol], ...kind };
    const answers = await Promise.all(
      Array.from({ length: CALLS }, () => post(gateway, paths[protocol], customer, body, BETAS)),
    );
    const wallet = await committedWallet(gateway, customer.accountId);
    const records = await usage(gateway, customer.accountId);
    return {
      statuses: new Set(answers.map(({ status }) => status)),
      first: answers[0]?.text,
      balance: wallet.balance,
      writtenOff: records.reduce((sum, record) => sum + microVnd(record["written_off_vnd"]), 0n),
    };
  }

  for (const protocol of ["messages", "chat", "responses"] as const) {
    for (const [what, kind] of Object.entries(KINDS[protocol])) {
      const { sold, unsold } = MODELS[protocol];
      t.test(`${protocol}, ${what}: refused for nothing if it is not sold`, async (t) => {
        const { statuses, balance, writtenOff } = await outcome(protocol, kind, unsold);
        t.strictSame([...statuses], [400]);
        t.strictSame([balance, writtenOff], [String(CREDIT_VND), 0n]);
      });

      if (JSON.stringify(kind).includes(NOT_AT_OPENAI)) continue;
      t.test(`${protocol}, ${what}: the excess of one call at most if it is sold`, async (t) => {
        const { statuses, first, writtenOff } = await outcome(protocol, kind, sold);
        t.ok(statuses.has(200), `${[...statuses]} ${first}`);
        for (const status of statuses) t.ok([200, 402, 429].includes(status), String(status));
        t.ok(writtenOff <= BigInt(CALL_VND_MAX) * 1_000_000n, `${writtenOff} µđ`);
      });
    }
  }
});
