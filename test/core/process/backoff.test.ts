import t from "tap";
import { backoffMs } from "../../../core/process/backoff.ts";

t.test(
  "the delay doubles with each failure up to its limit, for any number of failures",
  async (t) => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 5_000].map((failures) => backoffMs(failures, 50, 1_000));
    t.strictSame(waits, [50, 50, 100, 200, 400, 800, 1_000, 1_000]);
  },
);
