import { parseFormBody } from "../body/form.ts";
import type { LongBodies } from "../body/long-bodies.ts";
import { readJson } from "../body/read-json.ts";
import { RequestBody } from "../body/request-body.ts";
import type { AwaitableVerdict } from "../plugin/plugin.ts";
import { isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import { wires } from "../wire/wires.ts";
import type { HttpCall } from "./http-call.ts";

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
    call.body = RequestBody.of(parsed.fields);
    return check(call);
  }
  const later = longBodies?.read(call, body);
  if (later) return later.then((read) => use(call, read));
  return use(call, readJson(body, call.endpoint.conversation));
}

function use(call: HttpCall, body: RequestBody | Refusal): Refusal | undefined {
  if (isRefusal(body)) return body;
  call.body = body;
  return check(call);
}

function check(call: HttpCall): Refusal | undefined {
  call.stream = call.body.read("stream") === true;
  return wires[call.endpoint.protocol].check(call.body.outline);
}
