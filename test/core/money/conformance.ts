import type { Test } from "tap";
import { histories } from "./histories.ts";
import { PURSE_TABLES } from "./purse-tables.ts";
import { standingTests } from "./standing-tests.ts";
import { Table } from "./table.ts";
import type { Create } from "./under-test.ts";

/**
 * The rules of money for every hold store, as tables: a step on the left, its result on the right. Amounts are µđ.
 * `ledger` lines act as the committer and the ledger behind the store.
 */
const TABLES: Record<string, string> = {
  "a hold is taken, posted, committed and acknowledged": `
    credit A 1000                   -> version 1
    hold c1 A 600..800              -> held 800
    wallet A                        -> available 200 held 800 uncommitted 0
    post c1 A cost 500              -> charged 500 off 0
    wallet A                        -> available 500 held 0 uncommitted 500
    acknowledge                     -> 1 acknowledged
    wallet A                        -> available 500 held 0 uncommitted 0
    ledger A                        -> 500`,

  "a wallet is loaded from the ledger before its first hold": `
    credit A 1000                   -> version 1
    bare-hold c1 A 1..10            -> unknown
    load A                          -> true
    bare-hold c1 A 1..10            -> held 10
    load B                          -> false`,

  "a hold takes what is available, and no less than its floor": `
    credit A 1000                   -> version 1
    hold c1 A 600..800              -> held 800
    hold c2 A 150..800              -> held 200
    hold c3 A 1..800                -> short 0
    void c2 A                       -> ok
    hold c3 A 201..800              -> short 200
    wallet A                        -> available 200 held 800 uncommitted 0`,

  "a hold priced before a credit is refused, and takes nothing": `
    credit A 1000                   -> version 1
    load A                          -> true
    hold c1 A 1..400 at 1           -> held 400
    credit A 1000                   -> version 2
    hold c2 A 1..400 at 1           -> stale
    wallet A                        -> available 1600 held 400 uncommitted 0
    hold c1 A 1..400 at 1           -> held 400
    hold c2 A 1..400 at 2           -> held 400
    hold c3 A 1..400 at 3           -> held 400
    credit A -10                    -> version 3
    hold c4 A 1..400 at 2           -> stale`,

  "a cost above the hold takes what is available and writes off the rest": `
    credit A 1000                   -> version 1
    hold c1 A 300..300              -> held 300
    hold c2 A 500..500              -> held 500
    post c1 A cost 900              -> charged 500 off 400
    wallet A                        -> available 0 held 500 uncommitted 500
    post c2 A cost 500              -> charged 500 off 0
    acknowledge                     -> 2 acknowledged
    ledger A                        -> 0`,

  "concurrent calls never hold more than a wallet has": `
    credit A 730                    -> version 1
    hold-at-once 500 A 100..100     -> 7 held, 493 short
    wallet A                        -> available 30 held 700 uncommitted 0`,

  "calls posted together get the same results as one by one": `
    credit A 1000                              -> version 1
    hold c1 A 1..400                           -> held 400
    hold c2 A 1..100                           -> held 100
    post-together A c1:300 c2:-1 c1:300 c2:70  -> 300, RangeError, 300, 70
    wallet A                                   -> available 630 held 0 uncommitted 370
    hold c3 A 1..100                           -> held 100
    hold c4 A 1..50                            -> held 50
    post-together A c3:2000 c4:40 never-held:7 -> 580, 40, 7
    wallet A                                   -> available 3 held 0 uncommitted 997`,

  "every step can be repeated": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    hold c1 A 1..400                -> held 400
    extend c1 A 1..600              -> held 600
    extend c1 A 1..600              -> held 600
    wallet A                        -> available 400 held 600 uncommitted 0
    post c1 A cost 450              -> charged 450 off 0
    post c1 A cost 450              -> charged 450 off 0 duplicate
    void c1 A                       -> ok
    void c1 A                       -> ok
    wallet A                        -> available 550 held 0 uncommitted 450
    acknowledge                     -> 1 acknowledged
    acknowledge                     -> 0 acknowledged
    post c1 A cost 450              -> charged 450 off 0 duplicate
    wallet A                        -> available 550 held 0 uncommitted 0
    ledger A                        -> 550`,

  "a void gives the hold back, and a hold that is gone cannot be extended": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    void c1 A                       -> ok
    wallet A                        -> available 1000 held 0 uncommitted 0
    extend c1 A 1..600              -> gone
    hold c2 A 1..400                -> held 400
    post c2 A cost 1                -> charged 1 off 0
    extend c2 A 1..600              -> gone`,

  "an extension takes what is available, and no less than its floor": `
    credit A 1000                   -> version 1
    hold c1 A 100..100              -> held 100
    hold c2 A 700..700              -> held 700
    extend c1 A 300..500            -> held 300
    extend c1 A 301..500            -> short 0
    extend c1 A 1..200              -> held 300
    extend c1 A 1..500.5            -> RangeError
    extend c1 A -1..500             -> RangeError
    wallet A                        -> available 0 held 1000 uncommitted 0`,

  "a call that costs nothing leaves a record and no charge": `
    credit A 1000                   -> version 1
    hold c1 A 0..0                  -> held 0
    post c1 A cost 0                -> charged 0 off 0
    acknowledge                     -> 1 acknowledged
    ledger A                        -> 1000`,

  "a credit is spendable at once, in whatever order credits are applied": `
    credit A 100                    -> version 1
    hold c1 A 1..100                -> held 100
    hold c2 A 1..100                -> short 0
    ledger-credit A 30              -> version 2
    ledger-credit A 5               -> version 3
    apply A 3 135                   -> ok
    wallet A                        -> available 35 held 100 uncommitted 0
    apply A 2 130                   -> ok
    apply A 3 135                   -> ok
    wallet A                        -> available 35 held 100 uncommitted 0
    hold c2 A 1..100                -> held 35`,

  "money is taken away whole or not at all": `
    credit A 100                    -> version 1
    hold c1 A 1..80                 -> held 80
    debit A 21 r1                   -> short 20
    wallet A                        -> available 20 held 80 uncommitted 0
    debit A 20 r1                   -> posted
    debit A 20 r1                   -> duplicate
    wallet A                        -> available 0 held 80 uncommitted 20
    void c1 A                       -> ok
    ledger A                        -> 100
    acknowledge                     -> 1 acknowledged
    wallet A                        -> available 80 held 0 uncommitted 0
    ledger A                        -> 80
    ledger-credit A 7               -> version 3
    apply A 3 107                   -> ok
    wallet A                        -> available 87 held 0 uncommitted 0`,

  "a debit whose reference is taken gives its money back": `
    credit A 100                    -> version 1
    load A                          -> true
    debit A 20 r1                   -> posted
    debit A 30 r1                   -> posted
    wallet A                        -> available 50 held 0 uncommitted 50
    commit                          -> 2 committed
    acknowledge                     -> 2 acknowledged
    wallet A                        -> available 80 held 0 uncommitted 0
    ledger A                        -> 80
    debit A 30 r1                   -> posted
    acknowledge                     -> 1 acknowledged
    wallet A                        -> available 80 held 0 uncommitted 0`,

  "a debit of a wallet that is not loaded": `
    credit A 100                    -> version 1
    debit A 20 r1                   -> unknown
    wallet A                        -> not loaded`,

  "a debit and calls after a crash": `
    credit A 100                    -> version 1
    hold c1 A 1..80                 -> held 80
    debit A 20 r1                   -> posted
    post c1 A cost 70               -> charged 70 off 0
    crash                           -> ok
    acknowledge                     -> 2 acknowledged
    load A                          -> true
    wallet A                        -> available 10 held 0 uncommitted 0
    ledger A                        -> 10`,

  "a revoked key gets no new hold, and its running calls are posted": `
    credit A 1000                   -> version 1
    hold c1 A 1..400 key K1         -> held 400
    revoke K1 A                     -> ok
    hold c2 A 1..400 key K1         -> revoked
    hold c3 A 1..400 key K2         -> held 400
    post c1 A cost 400              -> charged 400 off 0`,

  "a restored key holds again": `
    credit A 1000                   -> version 1
    revoke K1 A                     -> ok
    revoke K2 A                     -> ok
    restore K1 A                    -> ok
    restore K3 A                    -> ok
    hold c1 A 1..400 key K1         -> held 400
    hold c2 A 1..400 key K2         -> revoked`,

  "amounts are exact up to 2^53 - 1": `
    credit A 9007199254740991                    -> version 1
    hold c1 A 1..9007199254740990                -> held 9007199254740990
    wallet A                                     -> available 1 held 9007199254740990 uncommitted 0
    extend c1 A 1..9007199254740991              -> held 9007199254740991
    post c1 A cost 9007199254740989              -> charged 9007199254740989 off 0
    wallet A                                     -> available 2 held 0 uncommitted 9007199254740989
    acknowledge                                  -> 1 acknowledged
    ledger A                                     -> 2`,

  "invalid amounts are refused and change nothing": `
    credit A 1000                   -> version 1
    hold c1 A 0..9007199254740992   -> RangeError
    hold c1 A -1..5                 -> RangeError
    hold c1 A 0..0.5                -> RangeError
    hold c1 A 1..10                 -> held 10
    post c1 A cost -1               -> RangeError
    post c1 A cost 0.5              -> RangeError
    wallet A                        -> available 990 held 10 uncommitted 0`,

  "a crash loses the holds and no posted call": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    hold c2 A 1..100                -> held 100
    post c1 A cost 300              -> charged 300 off 0
    crash                           -> ok
    acknowledge                     -> 1 acknowledged
    hold c3 A 1..9999               -> held 700
    post c1 A cost 300              -> charged 300 off 0 duplicate
    wallet A                        -> available 0 held 700 uncommitted 0
    ledger A                        -> 700`,

  "a crash ends a hold of nothing": `
    credit A 1000                   -> version 1
    hold c1 A 0..0                  -> held 0
    crash                           -> ok
    hold c2 A 1..9999               -> held 1000
    wallet A                        -> available 0 held 1000 uncommitted 0`,

  "a movement that was read before a crash is applied after it": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    crash                           -> ok
    credit A 30                     -> version 2
    hold c2 A 1..9999               -> held 1030`,

  "a crash between commit and acknowledgement charges once": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    post c1 A cost 300              -> charged 300 off 0
    commit                          -> 1 committed
    wallet A                        -> available 700 held 0 uncommitted 300
    crash                           -> ok
    acknowledge                     -> 1 acknowledged
    load A                          -> true
    wallet A                        -> available 700 held 0 uncommitted 0
    ledger A                        -> 700`,

  "a wallet is not loaded before its posts are committed, so its balance includes them": `
    credit A 1000                   -> version 1
    hold c1 A 1..400                -> held 400
    post c1 A cost 300              -> charged 300 off 0
    crash                           -> ok
    load-soon A                     -> waits
    commit                          -> 1 committed
    load-soon A                     -> waits
    acknowledge                     -> 1 acknowledged
    load A                          -> true
    wallet A                        -> available 700 held 0 uncommitted 0`,

  "charges in quarantine beyond the balance are taken off the next credits, and a retry moves both books": `
    credit A 100                    -> version 1
    quarantine q1 A 60              -> ok
    quarantine q2 A 90              -> ok
    load A                          -> true
    wallet A                        -> available 0 held 0 uncommitted 0
    credit A 30                     -> version 2
    wallet A                        -> available 0 held 0 uncommitted 0
    retry q1                        -> true
    wallet A                        -> available 0 held 0 uncommitted 0
    credit A 100                    -> version 3
    wallet A                        -> available 80 held 0 uncommitted 0
    retry q2                        -> true
    retry q2                        -> false
    ledger A                        -> 80
    wallet A                        -> available 80 held 0 uncommitted 0`,

  "a restore loads every wallet from the ledger again": `
    credit A 1000                   -> version 1
    hold c1 A 1..300                -> held 300
    post c1 A cost 300              -> charged 300 off 0
    acknowledge                     -> 1 acknowledged
    ledger-credit A -200            -> version 2
    wallet A                        -> available 700 held 0 uncommitted 0
    restore-from-ledger             -> restored
    restore-from-ledger             -> restored
    hold c2 A 1..100                -> held 100
    wallet A                        -> available 400 held 100 uncommitted 0`,
};

/** The table for stores that lose their wallets in a crash. Other stores have no load to wait for. */
const WALLETS_ARE_LOST =
  "a wallet is not loaded before its posts are committed, so its balance includes them";

/** Runs every table and the property against a kind of hold store. */
export function holdStoreConformance(
  t: Test,
  name: string,
  create: Create,
  { walletsOutliveCrashes = false } = {},
): void {
  t.test(`hold store: ${name}`, async (t) => {
    for (const [title, text] of Object.entries({ ...TABLES, ...PURSE_TABLES })) {
      if (walletsOutliveCrashes && title === WALLETS_ARE_LOST) continue;
      t.test(title, async (t) => {
        const table = await Table.begin(create);
        try {
          const { expected, found } = await table.run(text);
          t.equal(found, expected);
        } finally {
          await table.dispose();
        }
      });
    }
    standingTests(t, create);
    histories(t, create);
  });
}
