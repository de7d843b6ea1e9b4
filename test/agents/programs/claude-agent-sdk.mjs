// The Claude Agent SDK, which runs the Claude Code that comes with it.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { model, prompt } from "./task.mjs";

let result;
for await (const message of query({
  prompt,
  options: {
    model,
    allowedTools: ["Read", "Edit"],
    permissionMode: "acceptEdits",
    cwd: process.cwd(),
  },
})) {
  if (message.type === "result") result = message;
}
if (result?.subtype !== "success" || result.is_error) {
  console.error(result?.result ?? result);
  process.exit(1);
}
console.log(result.result);
