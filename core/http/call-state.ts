/**
 * The states of a call.
 *
 * - `admitting`: plugins decide by its headers; its body may be arriving already.
 * - `reading`: admitted, and its body arrives. Or refused, and its chunked body is read to its end.
 * - `requesting`: plugins decide by its body.
 * - `dispatched`: sent to an upstream, or passed to the route's own handler.
 * - `replying`: the upstream has replied; the sinks carry the reply to the client.
 * - `closing`: its outcome is decided; `close` runs once for every plugin that it has reached.
 * - `ended`: the last byte has left, or the connection was cut.
 */
export type CallState =
  | "admitting"
  | "reading"
  | "requesting"
  | "dispatched"
  | "replying"
  | "closing"
  | "ended";

/**
 * The allowed steps. A call that is refused, fails or loses its client goes to `closing` from any
 * state; from `admitting` and `requesting` only while no plugin's verdict is pending.
 */
export const STEPS: Readonly<Record<CallState, readonly CallState[]>> = {
  admitting: ["reading", "closing"],
  // Routes with a handler of their own have no request plugins.
  reading: ["requesting", "dispatched", "closing"],
  requesting: ["dispatched", "closing"],
  // Before the first byte of a reply, the next route may be tried.
  dispatched: ["dispatched", "replying", "closing"],
  replying: ["closing"],
  closing: ["ended"],
  ended: [],
};

/** A step that is not in the table: a bug of the gateway. */
export class StepOutOfOrder extends Error {
  constructor(from: CallState, to: CallState) {
    super(`a call cannot go from "${from}" to "${to}"`);
    this.name = "StepOutOfOrder";
  }
}

/** Returns true once the outcome of a call is decided. It can no longer change. */
export function isOver(state: CallState): boolean {
  return state === "closing" || state === "ended";
}
