import { t } from "./text.ts";

interface Snippet {
  readonly id: string;
  readonly name: string;
  /** The base URL to set in this client. */
  readonly address: string;
  readonly code: string;
  readonly note?: string;
}

const KEY = "<API_KEY>";
const HELLO = "Xin chào!";

/**
 * Code and settings for common clients. Clients for the Messages API append `/v1` to the base URL;
 * those for Chat Completions expect `/v1` in it. `background` is a cheap model for an agent's
 * background work; without it, the agent names a model of its own.
 */
export function snippets(base: string, model: string, background: string): Snippet[] {
  const v1 = `${base}/v1`;
  return [
    {
      id: "curl",
      name: "curl",
      address: v1,
      code: `curl ${v1}/chat/completions \\
  -H "Authorization: Bearer ${KEY}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "${HELLO}"}]
  }'`,
    },
    {
      id: "openai-python",
      name: "OpenAI SDK · Python",
      address: v1,
      code: `from openai import OpenAI

client = OpenAI(base_url="${v1}", api_key="${KEY}")

stream = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "${HELLO}"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="")`,
    },
    {
      id: "openai-node",
      name: "OpenAI SDK · Node.js",
      address: v1,
      code: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${v1}", apiKey: "${KEY}" });

const reply = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "${HELLO}" }],
});
console.log(reply.choices[0].message.content);`,
    },
    {
      id: "anthropic-python",
      name: "Anthropic SDK · Python",
      address: base,
      code: `from anthropic import Anthropic

client = Anthropic(base_url="${base}", api_key="${KEY}")

reply = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "${HELLO}"}],
)
print(reply.content[0].text)`,
    },
    {
      id: "anthropic-node",
      name: "Anthropic SDK · Node.js",
      address: base,
      code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${base}", apiKey: "${KEY}" });

const reply = await client.messages.create({
  model: "${model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "${HELLO}" }],
});
console.log(reply.content);`,
    },
    {
      id: "claude-code",
      name: "Claude Code",
      address: base,
      note: t("howto.claudecode"),
      code: `export ANTHROPIC_BASE_URL="${base}"
export ANTHROPIC_AUTH_TOKEN="${KEY}"
export ANTHROPIC_MODEL="${model}"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="${background}"
claude`,
    },
    {
      id: "editors",
      name: "Cursor, Cline, Roo Code, Continue",
      address: v1,
      note: t("howto.editors"),
      code: `API provider:  OpenAI Compatible
Base URL:      ${v1}
API key:       ${KEY}
Model ID:      ${model}`,
    },
  ];
}
