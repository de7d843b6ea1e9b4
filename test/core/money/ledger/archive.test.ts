import postgres from "postgres";
import t from "tap";
import type { Database } from "../../../../core/database/database.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { ManualMachine } from "../manual-machine.ts";

type Reply = object[] | Error;

/** An error of Postgres with this state. */
function failure(code: string): Error {
  return Object.assign(Object.create(postgres.PostgresError.prototype), { code, message: code });
}

/** An archive in a database that replies in turn; the last reply stays. */
function archive(...replies: Reply[]) {
  /** The times of the statements. */
  const asked: number[] = [];
  const machine = new ManualMachine();
  const query = async () => {
    asked.push(machine.monotonic());
    const reply = replies.length > 1 ? replies.shift() : replies[0];
    if (reply instanceof Error) throw reply;
    return reply ?? [];
  };
  return { archive: archiveOf({ query } as unknown as Database, machine), asked, machine };
}

/** Waits for a result while the time of a machine passes. */
async function late<T>(machine: ManualMachine, work: Promise<T>): Promise<T> {
  let isDone = false;
  const mark = () => {
    isDone = true;
  };
  work.then(mark, mark);
  // Its first timer starts once the first reply is there.
  for (await machine.advance(0); !isDone; ) await machine.advance(LIFETIMES.proofPollMs);
  return work;
}

t.test("a step that would make calls wait for its lock is tried again", async (t) => {
  for (const state of ["55P03", "40P01"]) {
    const {
      archive: books,
      asked,
      machine,
    } = archive(failure(state), failure(state), [{ result: 1 }]);
    t.equal(await late(machine, books.close("2026-01")), 1);
    t.strictSame(asked, [0, LIFETIMES.proofPollMs, 2 * LIFETIMES.proofPollMs]);
  }
});

t.test("a step that gets no lock in 60 attempts fails", async (t) => {
  const { archive: books, asked, machine } = archive(failure("55P03"));
  await t.rejects(late(machine, books.drop("2026-01")), { code: "55P03" });
  t.equal(asked.length, 60);
});

t.test("any other failure of a step is not tried again", async (t) => {
  for (const error of [failure("23505"), new Error("away")]) {
    const { archive: books, asked } = archive(error);
    await t.rejects(books.reopen("2026-01"), error.message);
    t.equal(asked.length, 1);
  }
  const { archive: books } = archive([]);
  await t.rejects(books.close("2026-01"), /did not say what it did/);
});
