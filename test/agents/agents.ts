import { join } from "node:path";
import type { Client } from "./client.ts";

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

const code = (cmd: string) => `text(await tools.exec_command(${JSON.stringify({ cmd })}))`;

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

/** Agents that are programs of their own. */
export const AGENTS: readonly Client[] = [claudeCode, codex, opencode, qwenCode];
