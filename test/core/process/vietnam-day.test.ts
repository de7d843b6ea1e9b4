import t from "tap";
import { dayOf, endOfDay, startOfDay } from "../../../core/process/vietnam-day.ts";

t.test("a day ends at 00:00 in Ho Chi Minh City, which is 17:00 UTC", async (t) => {
  for (const [now, end] of [
    ["2026-11-21T16:59:59.999Z", "2026-11-21T17:00:00.000Z"],
    ["2026-11-21T17:00:00.000Z", "2026-11-22T17:00:00.000Z"],
    ["2026-11-21T00:00:00.000Z", "2026-11-21T17:00:00.000Z"],
    ["2026-12-31T23:59:59.999Z", "2027-01-01T17:00:00.000Z"],
    ["2028-02-28T17:00:00.000Z", "2028-02-29T17:00:00.000Z"],
  ] as const) {
    t.equal(endOfDay(dayOf(new Date(now))).toISOString(), end, now);
    const local = new Intl.DateTimeFormat("en-GB", {
      timeZone: "Asia/Ho_Chi_Minh",
      timeStyle: "medium",
    }).format(endOfDay(dayOf(new Date(now))));
    t.equal(local, "00:00:00");
  }
});

t.test("a day begins when the previous day ends", async (t) => {
  t.equal(dayOf(new Date("2026-11-21T17:00:00.000Z")), "2026-11-22");
  t.equal(dayOf(new Date("2026-11-21T16:59:59.999Z")), "2026-11-21");
  t.strictSame(startOfDay("2026-11-22"), endOfDay("2026-11-21"));
});
