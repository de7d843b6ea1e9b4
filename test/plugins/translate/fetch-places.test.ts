import t from "tap";
import { isRefusal, refuse } from "../../../core/plugin/index.ts";
import { FetchPlaces, type Place } from "../../../plugins/translate/fetch-places.ts";

const MB = 1_048_576;
const HERE = new AbortController().signal;

/** Fetches that end when a test ends them, or when their place does. */
function slowFetches() {
  const places = new FetchPlaces();
  return {
    places,
    start(account: string) {
      let place: Place | undefined;
      let finish = () => {};
      const result = places.run(account, HERE, (given) => {
        place = given;
        return new Promise<string>((resolve) => {
          finish = () => resolve("fetched");
          given.signal.addEventListener("abort", () => resolve("ended"));
        });
      });
      return {
        result,
        received: (bytes: number) => place?.received(bytes),
        finish: () => finish(),
      };
    },
  };
}

const outcome = async (result: Promise<unknown>) => {
  const value = await result;
  return isRefusal(value) ? value.status : value;
};

t.test("accounts with slow servers leave places to others", async (t) => {
  const { start } = slowFetches();
  const slow = Array.from({ length: 40 }, (_, at) => start(`slow ${at % 20}`));
  t.equal(await outcome(start("slow 0").result), 429);
  const other = start("other");
  other.finish();
  t.equal(await outcome(other.result), "fetched");
  for (const { finish } of slow) finish();
  for (const { result } of slow) t.equal(await outcome(result), "fetched");
});

t.test("all places together are bounded", async (t) => {
  const { start } = slowFetches();
  const slow = Array.from({ length: 300 }, (_, at) => start(`slow ${at}`));
  for (const { finish } of slow) finish();
  const outcomes = await Promise.all(slow.map(({ result }) => outcome(result)));
  t.equal(outcomes.filter((one) => one === 503).length, 300 - 256);
});

t.test("the account with most bytes loses its largest fetch if the memory is full", async (t) => {
  const { start } = slowFetches();
  const [small, largest] = [start("most"), start("most")];
  const others = Array.from({ length: 8 }, (_, at) => start(`other ${at}`));
  small.received(10 * MB);
  largest.received(20 * MB);
  for (const other of others) other.received(17 * MB);
  t.equal(await outcome(largest.result), 503);
  for (const { finish } of [small, ...others]) finish();
  for (const { result } of [small, ...others]) t.equal(await outcome(result), "fetched");
});

t.test("an account waits for a moment after images that could not be fetched", async (t) => {
  const places = new FetchPlaces();
  const fail = async () => refuse.badRequest("it cannot be fetched");
  const fetched = async () => "fetched";
  for (const expected of [400, 400, 429]) {
    t.equal(await outcome(places.run("a", HERE, fail)), expected);
  }
  t.equal(await places.run("b", HERE, fetched), "fetched");
});

t.test("a fetch ends when its client leaves", async (t) => {
  const places = new FetchPlaces();
  const left = new AbortController();
  const ended = places.run<unknown>("a", left.signal, ({ signal }) => {
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended")));
  });
  left.abort();
  t.equal(await ended, "ended");
});
