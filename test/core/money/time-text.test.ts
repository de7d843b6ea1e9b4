import t from "tap";
import { timeText } from "../../../core/money/time-text.ts";

t.test("times from 1970 to 2200 are text, and no others", async (t) => {
  const end = Date.UTC(2200, 0);
  const table: [number, string][] = [
    [0, '"1970-01-01T00:00:00.000Z"'],
    [1_799_999_999_007.9, '"2027-01-15T07:59:59.007Z"'],
    [1_799_999_999_999, '"2027-01-15T07:59:59.999Z"'],
    [1_800_000_000_000, '"2027-01-15T08:00:00.000Z"'],
    [end - 1, '"2199-12-31T23:59:59.999Z"'],
    [end, String(end)],
    [-1, "-1"],
    [Number.NaN, "NaN"],
  ];
  for (const [at, text] of table) t.equal(timeText(at), text);
});
