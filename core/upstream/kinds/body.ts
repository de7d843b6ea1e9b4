import { encodeForm } from "./form.ts";
import type { OutgoingCall } from "./kind.ts";

interface EncodedBody {
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** Returns the body in the protocol's own form: multipart with the route's model, or JSON. */
export function encodeBody(call: OutgoingCall, model: string): EncodedBody {
  if (call.form) return encodeForm(call.form, { model });
  return { contentType: "application/json", body: call.json ?? "" };
}
