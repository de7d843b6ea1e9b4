/**
 * Fields that hold the text of a conversation, by their names in any protocol, and the usual ones of agents' tools.
 * Their long texts are not decoded for a call that is passed on. So code that reads a body for its fields may check if
 * such a text is present, and must not read its content. Fields with addresses, files or signatures must not be here.
 */
export const TEXT_FIELDS: ReadonlySet<string> = new Set([
  ...["arguments", "content", "description", "input", "output", "reasoning_content"],
  ...["text", "thinking"],
  ...["code", "command", "diff", "file_text", "new_str", "new_string", "old_str", "old_string"],
  ...["patch", "query", "stdout"],
]);
