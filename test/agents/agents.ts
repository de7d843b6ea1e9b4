import { join } from "node:path";
import { type Client, COMPACTS_AT_TOKENS } from "./client.ts";

const bin = (installed: string, name: string) => join(installed, "node_modules", ".bin", name);

const claudeCode: Client = {
  name: "Claude Code",
  protocol: "messages",
  packages: ["@anthropic-ai/claude-code"],
  tools: {
    read: (file_path) => ({ name: "Read", arguments: { file_path } }),
    replace: (file_path, old_string, new_string) => ({
      name: "Edit",
      arguments: { file_path, old_string, new_string },
    }),
  },
  command: ({ installed, url, key, model, prompt }) => ({
    file: bin(installed, "claude"),
    args: ["-p", prompt, "--model", model, "--allowedTools", "Read", "Edit"],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
};

const claudeAgentSdk: Client = {
  ...claudeCode,
  name: "Claude Agent SDK",
  packages: ["@anthropic-ai/claude-agent-sdk", "zod"],
  command: ({ node, installed, url, key, model, prompt }) => ({
    file: node,
    args: [join(installed, "programs", "claude-agent-sdk.mjs")],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      MODEL: model,
      PROMPT: prompt,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
};

const code = (cmd: string) => `text((await tools.exec_command(${JSON.stringify({ cmd })})).output)`;

const codex: Client = {
  name: "Codex",
  protocol: "responses",
  packages: ["@openai/codex"],
  tools: {
    // With some models, Codex has only one tool, which runs code; the code calls the other tools.
    read: (path) => [
      { name: "exec", arguments: code(`cat ${path}`) },
      { name: "exec_command", arguments: { cmd: `cat ${path}` } },
      { name: "shell_command", arguments: { command: `cat ${path}` } },
      { name: "shell", arguments: { command: ["cat", path] } },
    ],
    replace: (path, before, after) => [
      { name: "exec", arguments: code(`sed -i 's/${before}/${after}/' ${path}`) },
      { name: "exec_command", arguments: { cmd: `sed -i 's/${before}/${after}/' ${path}` } },
      { name: "shell_command", arguments: { command: `sed -i 's/${before}/${after}/' ${path}` } },
      { name: "shell", arguments: { command: ["sed", "-i", `s/${before}/${after}/`, path] } },
    ],
  },
  command: ({ installed, url, key, model, prompt }) => ({
    file: bin(installed, "codex"),
    args: [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      ...["-m", model, prompt],
    ],
    env: { GATEWAY_KEY: key },
    files: {
      ".codex/config.toml": [
        'model_provider = "gateway"',
        "[model_providers.gateway]",
        'name = "gateway"',
        `base_url = "${url}/v1"`,
        'env_key = "GATEWAY_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
      ].join("\n"),
    },
  }),
};

/** Codex on the provider that it has built in, which it asks for more than others. */
const codexBuiltIn: Client = {
  ...codex,
  name: "Codex, built-in provider",
  command: (around) => {
    const { url, key } = around;
    return {
      ...codex.command(around),
      env: { CODEX_API_KEY: key, OPENAI_API_KEY: key },
      files: {
        ".codex/config.toml": [`openai_base_url = "${url}/v1"`, 'forced_login_method = "api"'].join(
          "\n",
        ),
      },
    };
  },
};

/** Codex whose context is full in the middle of its task. */
function compacting(client: Client): Client {
  return {
    ...client,
    name: `${client.name}, compacting`,
    compacts: true,
    command: (around) => {
      const command = client.command(around);
      const [[path, config = ""] = [""]] = Object.entries(command.files ?? {});
      const limit = `model_auto_compact_token_limit = ${COMPACTS_AT_TOKENS}`;
      return { ...command, files: { [path]: `${limit}\n${config}` } };
    },
  };
}

const patch = (path: string, before: string, after: string) =>
  [
    "*** Begin Patch",
    `*** Update File: ${path}`,
    "@@",
    `-${before}`,
    `+${after}`,
    "*** End Patch",
  ].join("\n");

const opencode: Client = {
  name: "opencode",
  protocol: "chat",
  packages: ["opencode-ai"],
  tools: {
    read: (filePath) => ({ name: "read", arguments: { filePath } }),
    replace: (filePath, oldString, newString) => [
      { name: "edit", arguments: { filePath, oldString, newString } },
      { name: "apply_patch", arguments: { patchText: patch(filePath, oldString, newString) } },
    ],
  },
  command: ({ installed, url, key, model, prompt }) => ({
    file: bin(installed, "opencode"),
    // It escapes quotes in arguments that have spaces.
    args: ["run", "-m", `gateway/${model}`, ...prompt.split(" ")],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    },
    files: {
      "opencode.json": JSON.stringify({
        provider: {
          gateway: {
            npm: "@ai-sdk/openai-compatible",
            name: "gateway",
            options: { baseURL: `${url}/v1`, apiKey: key },
            models: { [model]: { name: model, tool_call: true } },
          },
        },
        permission: { edit: "allow", bash: "allow", external_directory: "allow" },
        share: "disabled",
        autoupdate: false,
      }),
    },
  }),
};

const qwenCode: Client = {
  name: "qwen-code",
  protocol: "chat",
  packages: ["@qwen-code/qwen-code"],
  tools: {
    read: (file_path) => ({ name: "read_file", arguments: { file_path } }),
    replace: (file_path, old_string, new_string) => ({
      name: "edit",
      arguments: { file_path, old_string, new_string },
    }),
  },
  command: ({ node, installed, url, key, model, prompt }) => ({
    file: node,
    args: [
      bin(installed, "qwen"),
      ...["-p", prompt, "--yolo", "--auth-type", "openai", "--model", model],
    ],
    env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, OPENAI_MODEL: model },
  }),
};

const copilotTools: Client["tools"] = {
  read: (path) => ({ name: "view", arguments: { path } }),
  // With GPT, it offers a tool of patches instead of `edit`.
  replace: (path, old_str, new_str) => [
    { name: "edit", arguments: { path, old_str, new_str } },
    {
      name: "bash",
      arguments: {
        ...{ command: `sed -i 's/${old_str}/${new_str}/' ${path}`, description: "corrects it" },
        ...{ mode: "sync", initial_wait: 10 },
      },
    },
  ],
};

/** GitHub's Copilot CLI on a provider of one's own, by each of its three wire APIs. */
function copilot(protocol: Client["protocol"]): Client {
  const type = protocol === "messages" ? "anthropic" : "openai";
  return {
    name: `Copilot CLI, ${protocol}`,
    protocol,
    packages: ["@github/copilot"],
    tools: copilotTools,
    command: ({ node, installed, url, key, model, prompt }) => ({
      file: node,
      args: [bin(installed, "copilot"), "-p", prompt, "--allow-all-tools", "--allow-all-paths"],
      env: {
        COPILOT_PROVIDER_TYPE: type,
        COPILOT_PROVIDER_BASE_URL: protocol === "messages" ? url : `${url}/v1`,
        COPILOT_PROVIDER_API_KEY: key,
        ...(protocol !== "messages" && {
          COPILOT_PROVIDER_WIRE_API: protocol === "chat" ? "completions" : "responses",
        }),
        COPILOT_MODEL: model,
        COPILOT_OFFLINE: "true",
      },
    }),
  };
}

const cline: Client = {
  name: "cline",
  protocol: "chat",
  packages: ["cline"],
  tools: {
    read: (path) => ({ name: "read_files", arguments: { files: [{ path }] } }),
    replace: (path, before, after) => ({
      name: "run_commands",
      arguments: { commands: [`sed -i 's/${before}/${after}/' ${path}`] },
    }),
  },
  command: ({ installed, url, key, model, prompt }) => ({
    file: "/bin/sh",
    args: [
      "-c",
      '"$CLINE" auth -p openai -k "$KEY" -m "$MODEL" -b "$URL/v1" && "$CLINE" -P openai -m "$MODEL" "$PROMPT"',
    ],
    env: { CLINE: bin(installed, "cline"), URL: url, KEY: key, MODEL: model, PROMPT: prompt },
  }),
};

const continueCli: Client = {
  name: "Continue",
  protocol: "chat",
  packages: ["@continuedev/cli"],
  tools: {
    read: (filepath) => ({ name: "Read", arguments: { filepath } }),
    // Which of the two it offers depends on the model.
    replace: (file_path, old_string, new_string) => [
      { name: "MultiEdit", arguments: { file_path, edits: [{ old_string, new_string }] } },
      { name: "Edit", arguments: { file_path, old_string, new_string } },
    ],
  },
  command: ({ node, installed, folder, url, key, model, prompt }) => ({
    file: node,
    args: [bin(installed, "cn"), "--config", join(folder, "continue.yaml"), "--auto", "-p", prompt],
    files: {
      "continue.yaml": JSON.stringify({
        name: "gateway",
        version: "1.0.0",
        schema: "v1",
        models: [
          {
            ...{ name: model, provider: "openai", model, apiBase: `${url}/v1`, apiKey: key },
            ...{ roles: ["chat"], capabilities: ["tool_use"] },
          },
        ],
      }),
    },
  }),
};

const kimiCode: Client = {
  name: "Kimi Code",
  protocol: "chat",
  packages: ["@moonshot-ai/kimi-code"],
  tools: {
    read: (path) => ({ name: "Read", arguments: { path } }),
    replace: (path, old_string, new_string) => ({
      name: "Edit",
      arguments: { path, old_string, new_string },
    }),
  },
  command: ({ node, installed, url, key, model, prompt }) => ({
    file: node,
    args: [bin(installed, "kimi"), "-p", prompt],
    files: {
      ".kimi-code/config.toml": [
        'default_model = "gateway"',
        'default_permission_mode = "yolo"',
        "telemetry = false",
        "[providers.gateway]",
        'type = "openai"',
        `base_url = "${url}/v1"`,
        `api_key = "${key}"`,
        "[models.gateway]",
        'provider = "gateway"',
        `model = "${model}"`,
        "max_context_size = 200000",
        'capabilities = ["thinking", "tool_use"]',
      ].join("\n"),
    },
  }),
};

const pi: Client = {
  name: "pi",
  protocol: "chat",
  packages: ["@earendil-works/pi-coding-agent"],
  tools: {
    read: (path) => ({ name: "read", arguments: { path } }),
    replace: (path, oldText, newText) => ({
      name: "edit",
      arguments: { path, edits: [{ oldText, newText }] },
    }),
  },
  command: ({ node, installed, url, key, model, prompt }) => ({
    file: node,
    args: [bin(installed, "pi"), "--provider", "gateway", "--model", model, "-p", prompt],
    env: { PI_OFFLINE: "1" },
    files: {
      ".pi/agent/models.json": JSON.stringify({
        providers: {
          gateway: {
            ...{ baseUrl: `${url}/v1`, api: "openai-completions", apiKey: key },
            models: [
              {
                ...{ id: model, name: model, reasoning: true, input: ["text"] },
                ...{ contextWindow: 200_000, maxTokens: 8_192 },
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
              },
            ],
          },
        },
      }),
    },
  }),
};

/** Agents that are programs of their own. */
export const AGENTS: readonly Client[] = [
  ...[claudeCode, claudeAgentSdk, codex, codexBuiltIn],
  ...[compacting(codex), compacting(codexBuiltIn), opencode, qwenCode],
  ...[copilot("messages"), copilot("chat"), copilot("responses")],
  ...[cline, continueCli, kimiCode, pi],
];
