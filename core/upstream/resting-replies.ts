import { atEndOfTurn } from "../process/turn.ts";

/**
 * After this much of a reply, it rests until the next turn of the event loop. Node reads up to 2 MB of a fast upstream in
 * one turn, which would all wait in memory before the first of it is written to the client.
 */
export const REPLY_BYTES_A_TURN = 64 * 1024;
/** With the 64 KB that each may then bring, a turn of the event loop stays some milliseconds long. */
const READ_ON_A_TURN = 8;
const BYTES_A_TURN = READ_ON_A_TURN * REPLY_BYTES_A_TURN;

let bytesOfTurn = 0;

/** Functions that let replies go on which have brought enough for one turn, the one that rests longest first. */
const resting = new Set<() => void>();
/** The same for replies that rest at their heads. They go first: most are small, and their clients have nothing yet. */
const beginning = new Set<() => void>();
/** So many that rest read on in a turn even if as many begin. */
const RESTED_MIN = 2;
let isDue = false;

/**
 * Calls `readOn` at the end of this turn, or of a later one if many replies rest: each then gets its share of the event
 * loop, and small replies wait for none of them. `isAtHead`: only the head of the reply has come.
 */
export function rest(readOn: () => void, isAtHead = false): void {
  (isAtHead ? beginning : resting).add(readOn);
  if (!isDue) plan();
}

/** Counts bytes of a reply. */
export function countRead(bytes: number): void {
  if (bytesOfTurn === 0) {
    atEndOfTurn("read", () => {
      bytesOfTurn = 0;
    });
  }
  bytesOfTurn += bytes;
}

/** True if the replies have brought enough for this turn: one that begins now rests, however many begin at once. */
export function isTurnFull(): boolean {
  return bytesOfTurn >= BYTES_A_TURN;
}

function plan(): void {
  isDue = true;
  atEndOfTurn("read", () => {
    try {
      const begun = readOnFrom(beginning, READ_ON_A_TURN - Math.min(RESTED_MIN, resting.size));
      readOnFrom(resting, READ_ON_A_TURN - begun);
    } finally {
      isDue = false;
      if (resting.size + beginning.size > 0) plan();
    }
  });
}

/** Lets the first ones of a set go on, at most `count`. Returns how many. */
function readOnFrom(replies: Set<() => void>, count: number): number {
  let done = 0;
  for (const readOn of replies) {
    if (done === count) break;
    done += 1;
    replies.delete(readOn);
    // It may bring enough at once: then it rests again, behind the others.
    readOn();
  }
  return done;
}
