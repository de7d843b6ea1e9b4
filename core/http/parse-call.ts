import { headToRead } from "../plugin/passed-request.ts";
import type { AwaitableVerdict } from "../plugin/plugin.ts";
import type { Outline } from "../process/outline.ts";
import { isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import { wires } from "../wire/wires.ts";
import { parseFormBody } from "./body.ts";
import type { HttpCall } from "./http-call.ts";
import { readJsonBody } from "./json-body.ts";
import type { LongBodies } from "./long-bodies.ts";

/**
 * Reads the body into the fields of the call, which keeps its bytes, and checks those that core needs. Returns the
 * refusal if one is wrong: later for a long body, which a thread reads.
 */
export function parseCall(
  call: HttpCall,
  body: Buffer,
  longBodies: LongBodies | undefined,
): AwaitableVerdict {
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
    return check(call);
  }
  const later = longBodies?.read(call, body);
  return later ? later.then((outline) => use(call, outline)) : use(call, readJsonBody(body));
}

function use(call: HttpCall, outline: Outline | Refusal): Refusal | undefined {
  if (isRefusal(outline)) return outline;
  call.outline = outline;
  return check(call);
}

function check(call: HttpCall): Refusal | undefined {
  const read = headToRead(call);
  call.stream = read["stream"] === true;
  return wires[call.endpoint.protocol].check(read);
}
