/**
 * Returns one server-sent event as text. `data` must be one line, which compact JSON always is.
 * Without a type there is no `event:` line, as in Chat Completions streams.
 */
export function encodeEvent(type: string | undefined, data: string): string {
  return type === undefined ? `data: ${data}\n\n` : `event: ${type}\ndata: ${data}\n\n`;
}

/** Returns one server-sent event as text whose data has any number of lines. */
export function encodeLines(type: string | undefined, data: string): string {
  return encodeEvent(type, data.replaceAll("\n", "\ndata: "));
}

/** Returns a comment, which keeps an idle connection open. Clients ignore it. */
export function encodeComment(text: string): string {
  return `: ${text}\n\n`;
}
