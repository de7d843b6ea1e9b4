import * as v from "valibot";
import { matching, named } from "../../process/options.ts";

/** Headers that carry the key. Sent twice, most providers refuse the call. */
const CREDENTIALS = new Set(["authorization", "x-api-key"]);

/** Headers that the gateway or its HTTP client sets. With another value, no call gets out or no reply can be read. */
const FRAMING = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Schema of headers that an operator adds to every request to a provider. */
export const extraHeaders = v.pipe(
  named(
    matching(/^[\t\x20-\x7e]*$/, "printable text on one line"),
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    "a header name",
    "a mapping by header name",
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    for (const [name, value] of Object.entries(dataset.value)) {
      const message = expectedInsteadOf(name.toLowerCase());
      if (message === undefined) continue;
      const item = { type: "object", origin: "key", input: dataset.value, key: name, value };
      addIssue({ message, path: [item as v.ObjectPathItem] });
    }
  }),
);

function expectedInsteadOf(name: string): string | undefined {
  if (CREDENTIALS.has(name)) {
    return "a header without a key: keys go into `keys`, and most providers refuse one that is sent twice";
  }
  if (FRAMING.has(name)) return "a header that the gateway does not set itself";
  return undefined;
}
