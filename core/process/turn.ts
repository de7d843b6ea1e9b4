/**
 * Steps of a call that run at the end of an event loop turn, batched over all calls:
 *
 * - `request`: run the plugins, dispatch upstream
 * - `reply`: read and close a complete reply
 * - `write`: write stream events to the client
 * - `read`: read on from upstreams that have sent enough for one turn
 * - `post`: post the calls that have closed
 * - `money`: gather the operations on money into one script
 * - `send`: send commands to Redis
 * - `ended`: report the calls that are over
 *
 * A call touches more code and memory than a core's caches hold. If steps run in the order in which sockets become
 * ready, each step finds the caches filled by a different step of another call. Batched, the first call of a step warms
 * the caches for the rest, and each socket's reader wakes once. This halved the cost of a call above a bare proxy, and
 * cut that of a stream event to almost zero.
 */
const STEPS = ["request", "reply", "write", "read", "post", "money", "send", "ended"] as const;

type Step = (typeof STEPS)[number];
type Work = () => void;

const waiting: Record<Step, Work[]> = {
  request: [],
  reply: [],
  write: [],
  read: [],
  post: [],
  money: [],
  send: [],
  ended: [],
};
let isScheduled = false;
let report = (error: unknown): void => {
  process.emitWarning(error instanceof Error ? error : String(error));
};

/** Sets the function that gets the errors of work that throws. The work of other calls still runs. */
export function reportThrownWork(reporter: (error: unknown) => void): void {
  report = reporter;
}

/** Runs `work` at the end of this turn; at the end of the next one if its step has already run in this turn. */
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
      for (const work of works) {
        try {
          work();
        } catch (error) {
          report(error);
        }
      }
    }
  } finally {
    isScheduled = false;
    if (STEPS.some((step) => waiting[step].length > 0)) schedule();
  }
}
