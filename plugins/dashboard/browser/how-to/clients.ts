/** The shells that a customer may start a client from. */
export const SYSTEMS = ["bash", "powershell", "cmd"] as const;
export type System = (typeof SYSTEMS)[number];

export const GROUPS = ["agents", "apps", "code", "plain"] as const;

/** The values that fill a setup in. */
export interface Place {
  /** Name of the service. */
  readonly name: string;
  /** The gateway's address, without a path. */
  readonly base: string;
  readonly key: string;
  readonly model: string;
  /** A cheap model for an agent's background work; without it, the agent names a model of its own. */
  readonly background: string;
  /** Models for images and for speech; undefined if none is sold. */
  readonly images: string | undefined;
  readonly speech: string | undefined;
}

/** One thing to do: run lines in a shell, fill a file, or fill in a form of settings. */
export interface Part {
  readonly kind: "shell" | "file" | "form";
  /** Of a file, its path. */
  readonly file?: string;
  readonly code: string;
  /** True if it replaces the parts before it, and stays. */
  readonly isAlternative?: boolean;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly group: (typeof GROUPS)[number];
  /** `messages` clients append `/v1` to the address by themselves; the others expect it there. */
  readonly protocol: "messages" | "chat";
  parts(place: Place, system: System): readonly Part[];
}

/** Returns the address that the client needs. */
export function addressFor({ protocol }: Pick<Client, "protocol">, base: string): string {
  return protocol === "messages" ? base : `${base}/v1`;
}

/** A model may think as long as a call may take. By itself Codex gives up after 300 s, and sends the call again. */
const CODEX_IDLE_MS = 900_000;

/** Common clients, in the order of the page. */
export const clients: readonly Client[] = [
  {
    id: "claude-code",
    name: "Claude Code",
    group: "agents",
    protocol: "messages",
    parts({ base, key, model, background }, system) {
      const env = {
        ANTHROPIC_BASE_URL: base,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: background,
      };
      const settings = file(home(system, ".claude/settings.json"), json({ env }));
      return [shell(system, env, "claude"), { ...settings, isAlternative: true }];
    },
  },
  {
    id: "codex",
    name: "Codex",
    group: "agents",
    protocol: "chat",
    parts({ name, base, key, model }, system) {
      const variable = `${idOf(name).toUpperCase().replaceAll("-", "_")}_API_KEY`;
      const config = `model = "${model}"
model_provider = "${idOf(name)}"

[model_providers.${idOf(name)}]
name = ${JSON.stringify(name)}
base_url = "${base}/v1"
env_key = "${variable}"
wire_api = "responses"
stream_idle_timeout_ms = ${CODEX_IDLE_MS}`;
      return [
        file(home(system, ".codex/config.toml"), config),
        shell(system, { [variable]: key }, "codex"),
      ];
    },
  },
  {
    id: "opencode",
    name: "opencode",
    group: "agents",
    protocol: "chat",
    parts({ name, base, key, model }, system) {
      const config = {
        $schema: "https://opencode.ai/config.json",
        model: `${idOf(name)}/${model}`,
        provider: {
          [idOf(name)]: {
            npm: "@ai-sdk/openai-compatible",
            name,
            options: { baseURL: `${base}/v1`, apiKey: key },
            models: { [model]: { name: model } },
          },
        },
      };
      return [
        file(home(system, ".config/opencode/opencode.json"), json(config)),
        shell(system, {}, "opencode"),
      ];
    },
  },
  {
    id: "qwen-code",
    name: "qwen-code",
    group: "agents",
    protocol: "chat",
    parts({ base, key, model }, system) {
      const env = { OPENAI_BASE_URL: `${base}/v1`, OPENAI_API_KEY: key, OPENAI_MODEL: model };
      return [shell(system, env, "qwen --auth-type openai")];
    },
  },
  {
    id: "copilot",
    name: "Copilot CLI",
    group: "agents",
    protocol: "chat",
    parts({ base, key, model }, system) {
      const env = {
        COPILOT_PROVIDER_TYPE: "openai",
        COPILOT_PROVIDER_BASE_URL: `${base}/v1`,
        COPILOT_PROVIDER_API_KEY: key,
        COPILOT_MODEL: model,
      };
      return [shell(system, env, "copilot")];
    },
  },
  {
    id: "cursor",
    name: "Cursor",
    group: "apps",
    protocol: "chat",
    parts: ({ base, key, model }) => [
      form({
        "OpenAI API Key": key,
        "Override OpenAI Base URL": `${base}/v1`,
        "Add Custom Model": model,
      }),
    ],
  },
  {
    id: "cline",
    name: "Cline, Roo Code",
    group: "apps",
    protocol: "chat",
    parts: ({ base, key, model }) => [
      form({
        "API Provider": "OpenAI Compatible",
        "Base URL": `${base}/v1`,
        "API Key": key,
        "Model ID": model,
      }),
    ],
  },
  {
    id: "continue",
    name: "Continue",
    group: "apps",
    protocol: "chat",
    parts({ name, base, key, model }, system) {
      const config = `name: ${JSON.stringify(name)}
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${base}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]`;
      return [file(home(system, ".continue/config.yaml"), config)];
    },
  },
  {
    id: "n8n",
    name: "n8n",
    group: "apps",
    protocol: "chat",
    parts: ({ base, key, model }) => [
      form({ "API Key": key, "Base URL": `${base}/v1`, Model: `By ID: ${model}` }),
    ],
  },
  {
    id: "openai-python",
    name: "OpenAI · Python",
    group: "code",
    protocol: "chat",
    parts: ({ base, key, model }, system) => [
      file(
        "hello.py",
        `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${key}")

stream = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "${HELLO}"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
      ),
      shell(system, {}, `pip install openai\n${python(system)} hello.py`),
    ],
  },
  {
    id: "openai-node",
    name: "OpenAI · Node.js",
    group: "code",
    protocol: "chat",
    parts: ({ base, key, model }, system) => [
      file(
        "hello.mjs",
        `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: "${key}" });

const reply = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "${HELLO}" }],
});
console.log(reply.choices[0].message.content);`,
      ),
      shell(system, {}, "npm install openai\nnode hello.mjs"),
    ],
  },
  {
    id: "anthropic-python",
    name: "Anthropic · Python",
    group: "code",
    protocol: "messages",
    parts: ({ base, key, model }, system) => [
      file(
        "hello.py",
        `from anthropic import Anthropic

client = Anthropic(base_url="${base}", api_key="${key}")

reply = client.messages.create(
    model="${model}",
    max_tokens=4096,
    messages=[{"role": "user", "content": "${HELLO}"}],
)
print("".join(part.text for part in reply.content if part.type == "text"))`,
      ),
      shell(system, {}, `pip install anthropic\n${python(system)} hello.py`),
    ],
  },
  {
    id: "anthropic-node",
    name: "Anthropic · Node.js",
    group: "code",
    protocol: "messages",
    parts: ({ base, key, model }, system) => [
      file(
        "hello.mjs",
        `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${base}", apiKey: "${key}" });

const reply = await client.messages.create({
  model: "${model}",
  max_tokens: 4096,
  messages: [{ role: "user", content: "${HELLO}" }],
});
for (const part of reply.content) if (part.type === "text") console.log(part.text);`,
      ),
      shell(system, {}, "npm install @anthropic-ai/sdk\nnode hello.mjs"),
    ],
  },
  {
    id: "ai-sdk",
    name: "Vercel AI SDK",
    group: "code",
    protocol: "chat",
    parts: ({ name, base, key, model }, system) => [
      file(
        "hello.mjs",
        `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const provider = createOpenAICompatible({
  name: "${idOf(name)}",
  baseURL: "${base}/v1",
  apiKey: "${key}",
});

const { text } = await generateText({ model: provider("${model}"), prompt: "${HELLO}" });
console.log(text);`,
      ),
      shell(system, {}, "npm install ai @ai-sdk/openai-compatible\nnode hello.mjs"),
    ],
  },
  {
    id: "curl",
    name: "curl",
    group: "plain",
    protocol: "chat",
    parts: ({ base, key, model }, system) => [
      { kind: "shell", code: curl(system, base, key, model) },
    ],
  },
  {
    id: "images",
    name: "Image",
    group: "plain",
    protocol: "chat",
    parts({ base, key, images }, system) {
      if (images === undefined) return [];
      const code = `import { writeFile } from "node:fs/promises";

const response = await fetch("${base}/v1/images/generations", {
  method: "POST",
  headers: { authorization: "Bearer ${key}", "content-type": "application/json" },
  body: JSON.stringify({ model: "${images}", prompt: "A cat that reads a book" }),
});
const { data, error } = await response.json();
if (error) throw new Error(error.message);
await writeFile("cat.png", Buffer.from(data[0].b64_json, "base64"));`;
      return [file("image.mjs", code), shell(system, {}, "node image.mjs")];
    },
  },
  {
    id: "speech",
    name: "Speech",
    group: "plain",
    protocol: "chat",
    parts({ base, key, speech }, system) {
      if (speech === undefined) return [];
      const code = `import { writeFile } from "node:fs/promises";

const response = await fetch("${base}/v1/audio/speech", {
  method: "POST",
  headers: { authorization: "Bearer ${key}", "content-type": "application/json" },
  body: JSON.stringify({ model: "${speech}", voice: "alloy", input: "${HELLO}" }),
});
if (!response.ok) throw new Error(await response.text());
await writeFile("hello.mp3", Buffer.from(await response.arrayBuffer()));`;
      return [file("speech.mjs", code), shell(system, {}, "node speech.mjs")];
    },
  },
];

const HELLO = "Xin chào!";

/** Returns the id of a provider in configs: the service's name in lower case, without signs. */
function idOf(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "") || "gateway"
  );
}

function file(path: string, code: string): Part {
  return { kind: "file", file: path, code };
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

function form(fields: Readonly<Record<string, string>>): Part {
  const width = Math.max(...Object.keys(fields).map((name) => name.length)) + 3;
  const lines = Object.entries(fields).map(
    ([name, value]) => `${`${name}:`.padEnd(width)}${value}`,
  );
  return { kind: "form", code: lines.join("\n") };
}

/** Lines that set variables for this window, then start the client. */
function shell(system: System, env: Readonly<Record<string, string>>, command: string): Part {
  const lines = Object.entries(env).map(([name, value]) => SET[system](name, value));
  return { kind: "shell", code: [...lines, command].join("\n") };
}

const SET: Readonly<Record<System, (name: string, value: string) => string>> = {
  bash: (name, value) => `export ${name}="${value}"`,
  powershell: (name, value) => `$env:${name} = "${value}"`,
  cmd: (name, value) => `set "${name}=${value}"`,
};

function home(system: System, path: string): string {
  return system === "bash" ? `~/${path}` : `%USERPROFILE%\\${path.replaceAll("/", "\\")}`;
}

function python(system: System): string {
  return system === "bash" ? "python3" : "python";
}

function curl(system: System, base: string, key: string, model: string): string {
  const url = `${base}/v1/chat/completions`;
  if (system === "powershell") {
    return `$body = @{
  model = "${model}"
  messages = @(@{ role = "user"; content = "Hello" })
} | ConvertTo-Json -Depth 5
$reply = Invoke-RestMethod "${url}" -Method Post -Body $body \`
  -ContentType "application/json" -Headers @{ Authorization = "Bearer ${key}" }
$reply.choices[0].message.content`;
  }
  if (system === "cmd") {
    return `curl "${url}" ^
  -H "Authorization: Bearer ${key}" ^
  -H "Content-Type: application/json" ^
  -d "{\\"model\\": \\"${model}\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": \\"Hello\\"}]}"`;
  }
  return `curl ${url} \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "${HELLO}"}]
  }'`;
}
