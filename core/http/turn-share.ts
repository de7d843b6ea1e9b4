import { atEndOfTurn } from "../process/turn.ts";

/** Requests that a turn of the event loop begins to serve at once. */
const AT_ONCE_MAX = 64;

let begun = 0;

/**
 * Begins to serve a request: at once, or at the end of this turn if many have begun in it.
 *
 * A packet may have hundreds of requests, and uWebSockets.js hands all of them over in one turn, which others wait for. It
 * cuts a connection that sends a request before the reply to its last one. So a connection gets this share of a turn, and
 * the rest of such a packet is dropped.
 */
export function inItsTurn(work: () => void): void {
  if (begun === 0) atEndOfTurn("request", endTurn);
  begun++;
  if (begun <= AT_ONCE_MAX) work();
  else atEndOfTurn("request", work);
}

function endTurn(): void {
  begun = 0;
}
