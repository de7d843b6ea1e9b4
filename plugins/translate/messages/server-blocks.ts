/** Returns true for blocks of server tools and redacted thinking, which no other protocol can express. */
export function isServerBlock(type: unknown): boolean {
  return (
    type === "redacted_thinking" ||
    type === "server_tool_use" ||
    type === "mcp_tool_use" ||
    type === "container_upload" ||
    (typeof type === "string" && type.endsWith("_tool_result"))
  );
}
