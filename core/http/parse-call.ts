import { bodyToRead } from "../contract/passed-request.ts";
import { isRefusal, type Refusal, refuse } from "../contract/refusal.ts";
import { wires } from "../wire/index.ts";
import { parseFormBody, readJsonBody } from "./body.ts";
import type { HttpCall } from "./http-call.ts";

/**
 * Reads the body into the fields of the call, which keeps its bytes, and checks those that core needs. Returns the
 * refusal if one is wrong.
 */
export function parseCall(call: HttpCall, body: Buffer): Refusal | undefined {
  const type = call.headers["content-type"] ?? "";
  const encoding = call.headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    return refuse.as(
      415,
      "invalid_request_error",
      "Compressed bodies are not read: send the body without content-encoding.",
    );
  }
  if (/^multipart\//i.test(type)) {
    if (!call.endpoint.multipart)
      return refuse.badRequest("This endpoint takes JSON: send content-type application/json.");
    const parsed = parseFormBody(body, type);
    if (isRefusal(parsed)) return parsed;
    call.form = parsed.form;
    call.body = parsed.fields;
  } else {
    const outline = readJsonBody(body);
    if (isRefusal(outline)) return outline;
    call.outline = outline;
  }
  const read = bodyToRead(call);
  call.stream = read["stream"] === true;
  return wires[call.endpoint.protocol].check(read);
}
