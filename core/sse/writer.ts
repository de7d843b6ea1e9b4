/**
 * One server-sent event as text. `data` must be one line, which compact JSON always is; without a type the
 * `event:` line is left out, as Chat Completions streams do.
 */
export function encodeEvent(type: string | undefined, data: string): string {
  return type === undefined ? `data: ${data}\n\n` : `event: ${type}\ndata: ${data}\n\n`;
}

/** A comment: keeps an idle connection open and is read by no client. */
export function encodeComment(text: string): string {
  return `: ${text}\n\n`;
}
