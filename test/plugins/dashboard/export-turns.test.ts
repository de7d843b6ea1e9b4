import assert from "node:assert/strict";
import t from "tap";
import type { CustomerRoute, Services } from "../../../core/plugin/index.ts";
import { ExportTurns } from "../../../plugins/dashboard/export-turns.ts";
import { exportRoute } from "../../../plugins/dashboard/usage-export.ts";

const CALLS = 2_999;

/** Books in which every account has some pages of calls, and how many pages were read at once. */
function longBooks() {
  const counts = { reading: 0, readingMax: 0 };
  const read = new Map<string, number>();
  const record = { at: new Date(0), keyId: "K", discountBps: 0 };
  const page = async ({ accountId, limit }: { accountId: string; limit: number }) => {
    counts.reading += 1;
    counts.readingMax = Math.max(counts.readingMax, counts.reading);
    await new Promise((resolve) => setImmediate(resolve));
    counts.reading -= 1;
    const before = read.get(accountId) ?? 0;
    const length = Math.min(limit, CALLS - before);
    read.set(accountId, before + length);
    return Array.from({ length }, () => record);
  };
  const services = {
    clock: { now: () => 0, monotonic: () => 0 },
    usage: { page, archivedBefore: async () => undefined },
    accounts: { keyNames: async () => new Map() },
  };
  return { counts, services: services as unknown as Services };
}

async function chunksOf(route: CustomerRoute, accountId: string): Promise<AsyncIterable<string>> {
  const request = { query: new URLSearchParams() };
  type Handle = (request: object, customer: object) => Promise<unknown>;
  const response = await (route.handle as unknown as Handle)(request, { accountId });
  assert.ok(typeof response === "object" && response !== null && "body" in response);
  return response.body as AsyncIterable<string>;
}

t.test("exports of many calls", async (t) => {
  t.test("give calls their turn after each few lines", async (t) => {
    const { services } = longBooks();
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    let [lines, linesMax, chunks] = [0, 0, 0];
    for await (const chunk of await chunksOf(exportRoute(services, 2), "A")) {
      const own = chunk.split("\r\n").length - 1;
      lines += own;
      linesMax = Math.max(linesMax, own);
      chunks += 1;
    }
    isOver = true;
    t.equal(lines, 1 + CALLS);
    t.ok(linesMax <= 50, `${linesMax} lines at once`);
    t.ok(turns >= chunks - 1, `${turns} turns for ${chunks} chunks`);
  });

  t.test("read one page at a time, whatever their number", async (t) => {
    const { services, counts } = longBooks();
    const route = exportRoute(services, 2);
    const drain = async (accountId: string) => {
      let lines = 0;
      for await (const chunk of await chunksOf(route, accountId))
        lines += chunk.split("\n").length - 1;
      return lines;
    };
    const lines = await Promise.all(["A", "B", "C", "D"].map(drain));
    t.strictSame(new Set(lines), new Set([1 + CALLS]));
    t.equal(counts.readingMax, 1);
  });

  t.test("pause between pages by the delay of a busy thread, and not on an idle one", async (t) => {
    const clock = { ms: 0, stepMs: 0, monotonic: () => (clock.ms += clock.stepMs) };
    const pauses: number[] = [];
    const turns = new ExportTurns(clock, async (ms) => pauses.push(ms));
    const page = () => turns.take(async () => "page");
    await page();
    await page();
    t.strictSame(pauses, []);
    clock.stepMs = 5;
    await page();
    await page();
    t.strictSame(pauses.slice(-1), [50]);
    clock.stepMs = 5_000;
    await page();
    await page();
    t.equal(pauses.at(-1), 1_000);
  });

  t.test("go on after a page that could not be read", async (t) => {
    const turns = new ExportTurns({ monotonic: () => 0 });
    await t.rejects(
      turns.take(() => Promise.reject(new Error("the database is down"))),
      /down/,
    );
    t.equal(await turns.take(async () => "next"), "next");
  });
});
