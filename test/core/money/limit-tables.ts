/**
 * The rules of limits beside the wallet for every hold store, as tables like those of `conformance.ts`. `limit` sets a
 * limit in ledger and store, `left` shows what is left of it, `within` names the limits that a call counts against.
 */
export const LIMIT_TABLES: Record<string, string> = {
  "a hold counts against the wallet and its limits in one step, and a post charges all of them": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    limit A day 900                           -> true
    hold c1 A 1..400 within key:K,day         -> held 400
    wallet A                                  -> available 600 held 400 uncommitted 0
    left A key:K                              -> available 100 held 400
    left A day                                -> available 500 held 400
    post c1 A cost 300 within key:K,day       -> charged 300 off 0
    wallet A                                  -> available 700 held 0 uncommitted 300
    left A key:K                              -> available 200 held 0 uncommitted 300
    left A day                                -> available 600 held 0 uncommitted 300
    acknowledge                               -> 1 acknowledged
    left A key:K                              -> available 200 held 0
    left A day                                -> available 600 held 0
    ledger A                                  -> 700`,

  "the versions of wallets and limits are those of the last change that was applied": `
    credit A 1000                             -> version 1
    load A                                    -> true
    versions                                  -> A 1
    limit A key:v 500                         -> true
    limit A day:lv 900                        -> true
    credit A 1000                             -> version 2
    limit A day:lv 800                        -> true
    ledger-limit A day:lv 700                 -> version 3
    versions                                  -> A 2 A/day:lv 2 A/key:v 1
    hold c1 A 1..400 within key:v,day:lv      -> held 400
    post c1 A cost 300 within key:v,day:lv    -> charged 300 off 0
    acknowledge                               -> 1 acknowledged
    versions                                  -> A 2 A/day:lv 2 A/key:v 1`,

  "a hold takes what the tightest limit affords, or nothing, and a refusal names that limit": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    limit A day 300                           -> true
    hold c1 A 200..400 within key:K,day       -> held 300
    hold c2 A 1..400 within key:K,day         -> short 0 of day
    hold c2 A 201..400 within key:K           -> short 200 of key:K
    left A key:K                              -> available 200 held 300
    wallet A                                  -> available 700 held 300 uncommitted 0
    hold c3 A 1..400                          -> held 400
    hold c4 A 1..400 within key:K             -> held 200
    hold c5 A 101..400                        -> short 100
    hold c5 A 101..400 within key:K           -> short 0 of key:K
    wallet A                                  -> available 100 held 900 uncommitted 0`,

  "if the wallet has the least, the refusal names the wallet": `
    credit A 100                              -> version 1
    limit A key:K 500                         -> true
    hold c1 A 101..400 within key:K           -> short 100
    limit A key:K 100                         -> true
    hold c1 A 101..400 within key:K           -> short 100
    hold c1 A 100..400 within key:K           -> held 100`,

  "an extension is bounded by every limit": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    extend c1 A 1..450                        -> held 450
    extend c1 A 1..450                        -> held 450
    left A key:K                              -> available 50 held 450
    extend c1 A 1..900                        -> held 500
    extend c1 A 501..900                      -> short 0 of key:K
    left A key:K                              -> available 0 held 500
    wallet A                                  -> available 500 held 500 uncommitted 0`,

  "a hold with limits can be repeated, and so can its post and its void": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    hold c1 A 1..400 within key:K             -> held 400
    left A key:K                              -> available 100 held 400
    post c1 A cost 300 within key:K           -> charged 300 off 0
    post c1 A cost 300 within key:K           -> charged 300 off 0 duplicate
    void c1 A                                 -> ok
    left A key:K                              -> available 200 held 0 uncommitted 300
    hold c2 A 1..150 within key:K             -> held 150
    void c2 A                                 -> ok
    void c2 A                                 -> ok
    left A key:K                              -> available 200 held 0 uncommitted 300
    wallet A                                  -> available 700 held 0 uncommitted 300
    acknowledge                               -> 1 acknowledged
    acknowledge                               -> 0 acknowledged
    left A key:K                              -> available 200 held 0`,

  "a limit that is not set refuses the hold, and nothing is taken of the others": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K,month       -> no limit month
    left A key:K                              -> available 500 held 0
    left A month                              -> not set
    wallet A                                  -> available 1000 held 0 uncommitted 0`,

  "concurrent calls never hold more than a limit has": `
    credit A 100000                           -> version 1
    limit A key:K 730                         -> true
    hold-at-once 50 A 100..100 within key:K   -> 7 held, 43 short
    left A key:K                              -> available 30 held 700
    wallet A                                  -> available 99300 held 700 uncommitted 0`,

  "a charge above its hold takes a limit below zero, which refuses later holds": `
    credit A 1000                             -> version 1
    limit A key:K 300                         -> true
    hold c1 A 300..300 within key:K           -> held 300
    post c1 A cost 500 within key:K           -> charged 500 off 0
    left A key:K                              -> available -200 held 0 uncommitted 500
    hold c2 A 0..10 within key:K              -> short -200 of key:K
    wallet A                                  -> available 500 held 0 uncommitted 500
    limit A key:K 800                         -> true
    left A key:K                              -> available 300 held 0 uncommitted 500`,

  "a lowered limit does not lower the holds of running calls": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    limit A key:K 100                         -> true
    left A key:K                              -> available -300 held 400
    extend c1 A 0..450                        -> held 400
    extend c1 A 101..450                      -> short -300 of key:K
    post c1 A cost 50 within key:K            -> charged 50 off 0
    left A key:K                              -> available 50 held 0 uncommitted 50`,

  "only a newer version changes a limit": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    limit A key:K 600                         -> true
    apply-limit A key:K 1 500 500             -> true
    apply-limit A key:K 2 600 600             -> true
    left A key:K                              -> available 200 held 400
    apply-limit A key:K 3 700 700             -> true
    left A key:K                              -> available 300 held 400`,

  "a limit is loaded with its wallet, and set only beside one that is loaded": `
    credit A 1000                             -> version 1
    bare-limit A key:K 500                    -> false
    left A key:K                              -> not set
    load A                                    -> true
    left A key:K                              -> available 500 held 0`,

  "a limit is dropped when no call holds any of it": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    drop-limit A key:K                        -> false
    post c1 A cost 400 within key:K           -> charged 400 off 0
    drop-limit A key:K                        -> true
    drop-limit A key:K                        -> true
    acknowledge                               -> 1 acknowledged
    left A key:K                              -> not set
    hold c2 A 1..400 within key:K             -> no limit key:K`,

  "invalid names and amounts are refused": `
    credit A 1000                             -> version 1
    limit A a|b 500                           -> RangeError
    limit A wallet 500                        -> RangeError
    limit A key:K -1                          -> RangeError
    limit A key:K 0.5                         -> RangeError`,

  "after a crash a limit has what its posted calls have left, whether they were committed or not": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..200 within key:K             -> held 200
    hold c2 A 1..100 within key:K             -> held 100
    hold c3 A 1..100 within key:K             -> held 100
    post c1 A cost 150 within key:K           -> charged 150 off 0
    commit                                    -> 1 committed
    post c2 A cost 70 within key:K            -> charged 70 off 0
    crash                                     -> ok
    acknowledge                               -> 2 acknowledged
    hold c4 A 1..9999 within key:K            -> held 280
    left A key:K                              -> available 0 held 280
    ledger A                                  -> 780`,

  "a post whose hold a crash has taken counts against the limits that it names": `
    credit A 1000                             -> version 1
    limit A key:K 500                         -> true
    hold c1 A 1..400 within key:K             -> held 400
    crash                                     -> ok
    acknowledge                               -> 0 acknowledged
    load A                                    -> true
    left A key:K                              -> available 500 held 0
    post c1 A cost 100 within key:K,gone      -> charged 100 off 0
    left A key:K                              -> available 400 held 0 uncommitted 100
    wallet A                                  -> available 900 held 0 uncommitted 100
    acknowledge                               -> 1 acknowledged
    left A key:K                              -> available 400 held 0`,
};
