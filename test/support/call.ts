import { type Endpoint, endpoints } from "../../core/contract/endpoint.ts";
import { HttpCall } from "../../core/http/http-call.ts";

/** A call that has just begun, to the first endpoint unless another is named. */
export function newCall(endpoint: Endpoint | undefined = endpoints[0]): HttpCall {
  if (!endpoint) throw new Error("there is no such endpoint");
  return new HttpCall("id", 0, 0, endpoint, {});
}
