import { type Endpoint, endpoints } from "../../core/catalogue/endpoint.ts";
import { HttpCall } from "../../core/http/http-call.ts";

/** A new call to `endpoint`, by default the first one. */
export function newCall(endpoint: Endpoint | undefined = endpoints[0]): HttpCall {
  if (!endpoint) throw new Error("unknown endpoint");
  return new HttpCall("id", 0, 0, endpoint, {});
}
