import t from "tap";
import { type ClockReader, Clocks } from "../../../core/boot/clocks.ts";
import { recordedLog } from "../../support/log.ts";

const NOW = Date.UTC(2026, 0);
const S = 1_000;

/** Clocks on a stopped clock; the readers are ahead by these ms. */
function clocksOf(
  aheadMs: Readonly<Record<string, number>>,
  nowMs = NOW,
  differenceMsMax = 300 * S,
) {
  const logged = recordedLog();
  const readers: ClockReader[] = Object.entries(aheadMs).map(([name, ms]) => ({
    name,
    read: async () => {
      if (Number.isNaN(ms)) throw new Error("connection refused");
      return nowMs + ms;
    },
  }));
  const clock = { now: () => nowMs, monotonic: () => 0 };
  const { log, lines } = logged;
  return { clocks: new Clocks({ clock, readers, differenceMsMax, log }), lines };
}

/** Returns what a start says: an error, a logged warning, or nothing. */
async function start(...given: Parameters<typeof clocksOf>): Promise<string> {
  const { clocks, lines } = clocksOf(...given);
  try {
    await clocks.start();
    return String(lines.find(({ level }) => level === 40)?.["clock"] ?? "");
  } catch (error) {
    return String(error);
  } finally {
    clocks.stop();
  }
}

t.test("small differences are measured, and not logged", async (t) => {
  const { clocks, lines } = clocksOf({ Redis: 900, Postgres: -50 });
  await clocks.start();
  clocks.stop();
  t.strictSame(clocks.differences, [
    { clock: "Redis", aheadMs: 900 },
    { clock: "Postgres", aheadMs: -50 },
  ]);
  t.strictSame(lines, []);
});

t.test("the clock that is off is named, and by how much", async (t) => {
  const of = (name: string, first: string, second: string) =>
    new RegExp(`the clock of ${name} is ${first}, and ${second}`);
  t.match(
    await start({ Redis: 90 * S, Postgres: S }),
    of("Redis", "90.0 s ahead of this gateway", "89.0 s ahead of Postgres"),
  );
  t.match(
    await start({ Redis: 90 * S, Postgres: 91 * S }),
    of("this gateway", "90.0 s behind Redis", "91.0 s behind Postgres"),
  );
  t.match(
    await start({ Redis: -S, Postgres: -80 * S }),
    of("Postgres", "80.0 s behind this gateway", "79.0 s behind Redis"),
  );
  t.match(await start({ Postgres: 2 * S }), /of this gateway is 2.0 s behind Postgres/);
});

t.test("no gateway starts with clocks that differ by minutes", async (t) => {
  const refused = await start({ Redis: 301 * S, Postgres: 0 });
  t.match(refused, /clock of Redis is 301.0 s ahead of this gateway.*at most 300 s.*Set the clock/);
  t.match(await start({ Postgres: -301 * S }), /Postgres is 301.0 s behind this.*Set the clock/);
  t.notMatch(await start({ Redis: 299 * S }), /Set the clock/);
  t.notMatch(await start({ Redis: 86_400 * S }, NOW, 0), /Set the clock/);
});

t.test("a gateway with a clock before 2020 does not start, whatever the others say", async (t) => {
  const unset = Date.UTC(1970, 0, 1, 0, 5);
  t.match(await start({ Redis: 0 }, unset, 0), /says 1970-01-01T00:05:00.000Z.*Set the clock/);
  t.match(await start({}, unset), /says 1970/);
});

t.test("a store that does not reply keeps no gateway from starting", async (t) => {
  const { clocks } = clocksOf({ Redis: Number.NaN, Postgres: 5 });
  await clocks.start();
  clocks.stop();
  t.strictSame(clocks.differences, [{ clock: "Postgres", aheadMs: 5 }]);
});

t.test("what a slow reply leaves open does not count as a difference", async (t) => {
  let nowMs = NOW;
  const read = async () => {
    nowMs += 4 * S;
    return nowMs;
  };
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const { log, lines } = recordedLog();
  const readers = [{ name: "Redis", read }];
  const clocks = new Clocks({ clock, readers, differenceMsMax: S, log });
  await clocks.start();
  clocks.stop();
  t.strictSame(clocks.differences, [{ clock: "Redis", aheadMs: 0 }]);
  t.strictSame(lines, []);
});
