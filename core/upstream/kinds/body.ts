import { encodeForm } from "./form.ts";
import type { OutgoingCall } from "./kind.ts";

interface EncodedBody {
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** The body as the protocol itself has it: a form with the route's model in it, or JSON. */
export function encodeBody(call: OutgoingCall, model: string): EncodedBody {
  if (call.form) return encodeForm(call.form, { model });
  return { contentType: "application/json", body: JSON.stringify(call.body) };
}
