import { counted } from "../process/counted.ts";
import { atEndOfTurn } from "../process/turn.ts";

/** With the 64 KB that each may then bring, a turn of the event loop stays some milliseconds long. */
const READ_ON_A_TURN = 8;

/** Functions that let replies go on which have brought enough for one turn, the one that rests longest first. */
const resting = counted("resting_replies", new Set<() => void>());
let isDue = false;

/**
 * Calls `readOn` at the end of this turn, or of a later one if many replies rest: each then gets its share of the event
 * loop, and small replies wait for none of them.
 */
export function rest(readOn: () => void): void {
  resting.add(readOn);
  if (!isDue) plan();
}

function plan(): void {
  isDue = true;
  atEndOfTurn("read", () => {
    let left = READ_ON_A_TURN;
    try {
      for (const readOn of resting) {
        resting.delete(readOn);
        // It may bring enough at once: then it rests again, behind the others.
        readOn();
        left -= 1;
        if (left === 0) break;
      }
    } finally {
      isDue = false;
      if (resting.size > 0) plan();
    }
  });
}
