/**
 * The simplest reader of an event stream: the whole text at once, line by line, as the HTML
 * standard describes it, but for a CR alone, which ends no line. It drops blocks without data, and keeps a last block without its blank
 * line.
 */
export function parseNaively(bytes: Buffer): [string | undefined, string][] {
  const events: [string | undefined, string][] = [];
  // Latin-1 keeps one character per byte, so that splitting lines does not depend on the encoding.
  const text = bytes.toString("latin1").replace(/^\xef\xbb\xbf/, "");
  let type = "";
  let data: string[] = [];
  for (const line of [...text.split(/\r?\n|\r$/), ""]) {
    if (line === "") {
      const joined = data.join("\n");
      if (joined !== "") events.push([type === "" ? undefined : type, joined]);
      type = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(Buffer.from(value, "latin1").toString());
    if (name === "event") type = Buffer.from(value, "latin1").toString();
  }
  return events;
}
