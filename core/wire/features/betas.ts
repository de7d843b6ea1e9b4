import type { FeatureName } from "../../contract/features.ts";

/**
 * Betas that go upstream, by their name without its date: `free` always, the others if the config
 * allows the feature. All others are left out and named, since a beta may change what is billed.
 */
const BETAS: Readonly<Record<string, FeatureName | "free">> = {
  "adaptive-thinking": "free",
  "advanced-tool-use": "free",
  "claude-code": "free",
  compact: "free",
  "computer-use": "free",
  "context-management": "free",
  "dev-full-thinking": "free",
  effort: "free",
  "fine-grained-tool-streaming": "free",
  "interleaved-thinking": "free",
  "max-tokens-3-5-sonnet": "free",
  "mid-conversation-system": "free",
  "model-context-window-exceeded": "free",
  "output-128k": "free",
  "output-300k": "free",
  pdfs: "free",
  "prompt-caching": "free",
  "prompt-caching-scope": "free",
  "redact-thinking": "free",
  "search-results": "free",
  "structured-outputs": "free",
  "task-budgets": "free",
  "thinking-binding-controls": "free",
  "token-counting": "free",
  "token-efficient-tools": "free",
  "tool-examples": "free",
  "tool-search-tool": "free",

  "advisor-tool": "advisor",
  "code-execution": "code_execution",
  "code-execution-web-tools": "code_execution",
  "context-1m": "long_context",
  "extended-cache-ttl": "long_cache",
  "fast-mode": "fast_mode",
  "files-api": "files",
  "mcp-client": "mcp",
  "mcp-servers": "mcp",
  "server-side-fallback": "fallbacks",
  skills: "containers",
  "web-fetch": "web_fetch",
  "web-search": "web_search",

  "responses=experimental": "free",
};

const DATE = /-\d{4}-?\d{2}-?\d{2}$/;

/** Returns what a beta switches on: `free` for tokens only, undefined for an unknown one. */
export function featureOfBeta(beta: string): FeatureName | "free" | undefined {
  const name = beta.replace(DATE, "");
  return Object.hasOwn(BETAS, name) ? BETAS[name] : undefined;
}
