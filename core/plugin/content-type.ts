/** Returns the content type in a list of headers (name, value, name, value); empty if there is none. */
export function contentTypeOf(headers: readonly string[]): string {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === "content-type") return headers[at + 1] ?? "";
  }
  return "";
}
