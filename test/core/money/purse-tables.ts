/**
 * The rules of purses for every hold store, as tables like those of `conformance.ts`. `within` names the purses that a call
 * counts against, with their limits for a hold; `spent` shows what was spent of a purse, and what is held of it.
 */
export const PURSE_TABLES: Record<string, string> = {
  "a hold counts against the wallet and its purses in one step, and a post charges all of them": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=500,day=900    -> held 400
    wallet A                                     -> available 600 held 400 uncommitted 0
    spent A key:K                                -> 0 held 400
    spent A day                                  -> 0 held 400
    post c1 A cost 300 within key:K,day          -> charged 300 off 0
    wallet A                                     -> available 700 held 0 uncommitted 300
    spent A key:K                                -> 300 held 0 uncommitted 300
    spent A day                                  -> 300 held 0 uncommitted 300
    acknowledge                                  -> 1 acknowledged
    spent A key:K                                -> 300 held 0
    spent A day                                  -> 300 held 0
    ledger A                                     -> 700`,

  "a loaded purse is listed with the wallets, without a version": `
    credit A 1000                                -> version 1
    load A                                       -> true
    versions                                     -> A 1
    hold c1 A 1..400 within key:v=500,day:v=900  -> held 400
    credit A 1000                                -> version 2
    versions                                     -> A 2 A/day:v 0 A/key:v 0
    post c1 A cost 300 within key:v,day:v        -> charged 300 off 0
    acknowledge                                  -> 1 acknowledged
    versions                                     -> A 2 A/day:v 0 A/key:v 0`,

  "a hold takes what the tightest purse affords, or nothing, and a refusal names that purse": `
    credit A 1000                                -> version 1
    hold c1 A 200..400 within key:K=500,day=300  -> held 300
    hold c2 A 1..400 within key:K=500,day=300    -> short 0 of day
    hold c2 A 201..400 within key:K=500          -> short 200 of key:K
    spent A key:K                                -> 0 held 300
    wallet A                                     -> available 700 held 300 uncommitted 0
    hold c3 A 1..400                             -> held 400
    hold c4 A 1..400 within key:K=500            -> held 200
    hold c5 A 101..400                           -> short 100
    hold c5 A 101..400 within key:K=500          -> short 0 of key:K
    wallet A                                     -> available 100 held 900 uncommitted 0`,

  "if the wallet has the least, the refusal names the wallet": `
    credit A 100                                 -> version 1
    hold c1 A 101..400 within key:K=500          -> short 100
    hold c1 A 101..400 within key:K=100          -> short 100
    hold c1 A 100..400 within key:K=100          -> held 100`,

  "an extension is bounded by every purse": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=500            -> held 400
    extend c1 A 1..450                           -> held 450
    extend c1 A 1..450                           -> held 450
    spent A key:K                                -> 0 held 450
    extend c1 A 1..900                           -> held 500
    extend c1 A 501..900                         -> short 0 of key:K
    spent A key:K                                -> 0 held 500
    wallet A                                     -> available 500 held 500 uncommitted 0`,

  "a hold with purses can be repeated, and so can its post and its void": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=500            -> held 400
    hold c1 A 1..400 within key:K=500            -> held 400
    spent A key:K                                -> 0 held 400
    post c1 A cost 300 within key:K              -> charged 300 off 0
    post c1 A cost 300 within key:K              -> charged 300 off 0 duplicate
    void c1 A                                    -> ok
    spent A key:K                                -> 300 held 0 uncommitted 300
    hold c2 A 1..150 within key:K=500            -> held 150
    void c2 A                                    -> ok
    void c2 A                                    -> ok
    spent A key:K                                -> 300 held 0 uncommitted 300
    wallet A                                     -> available 700 held 0 uncommitted 300
    acknowledge                                  -> 1 acknowledged
    acknowledge                                  -> 0 acknowledged
    spent A key:K                                -> 300 held 0`,

  "a purse that is not loaded refuses the hold, and nothing is taken of the others": `
    credit A 1000                                -> version 1
    bare-hold c1 A 1..400 within key:K=500       -> unknown
    load A                                       -> true
    load-purse A key:K                           -> true
    bare-hold c1 A 1..400 within key:K=500,month=700 -> unknown
    spent A key:K                                -> 0 held 0
    spent A month                                -> not loaded
    wallet A                                     -> available 1000 held 0 uncommitted 0
    load-purse A month                           -> true
    bare-hold c1 A 1..400 within key:K=500,month=700 -> held 400`,

  "concurrent calls never hold more than two purses have": `
    credit A 100000                              -> version 1
    hold-at-once 500 A 100..100 within key:K=730,day=830 -> 7 held, 493 short
    spent A key:K                                -> 0 held 700
    hold-at-once 500 A 100..100 within day=830   -> 8 held, 492 short
    hold d1 A 1..200 within day=830              -> held 30
    spent A day                                  -> 0 held 830
    wallet A                                     -> available 99170 held 830 uncommitted 0`,

  "a charge above its hold may pass the limit of a purse, which refuses later holds": `
    credit A 1000                                -> version 1
    hold c1 A 300..300 within key:K=300          -> held 300
    post c1 A cost 500 within key:K              -> charged 500 off 0
    spent A key:K                                -> 500 held 0 uncommitted 500
    hold c2 A 0..10 within key:K=300             -> short -200 of key:K
    wallet A                                     -> available 500 held 0 uncommitted 500
    hold c2 A 0..900 within key:K=800            -> held 300`,

  "another limit counts from the next hold on, and running calls keep theirs": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=500            -> held 400
    hold c2 A 1..50 within key:K=100             -> short -300 of key:K
    hold c2 A 0..50 within key:K=100             -> short -300 of key:K
    extend c1 A 0..450                           -> held 450
    extend c1 A 501..600                         -> short 50 of key:K
    hold c2 A 1..400 within key:K=700            -> held 250
    extend c1 A 0..500                           -> held 450
    extend c1 A 451..500                         -> short -200 of key:K
    post c1 A cost 50 within key:K               -> charged 50 off 0
    spent A key:K                                -> 50 held 250 uncommitted 50
    extend c2 A 1..700                           -> held 650`,

  "a purse is of one account, and of one period: another name begins at nothing": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K:2026-11=400    -> held 400
    hold c2 A 1..400 within key:K:2026-11=400    -> short 0 of key:K:2026-11
    hold c2 A 1..400 within key:K:2026-12=400    -> held 400
    post c1 A cost 400 within key:K:2026-11      -> charged 400 off 0
    spent A key:K:2026-11                        -> 400 held 0 uncommitted 400
    spent A key:K:2026-12                        -> 0 held 400`,

  "a limit of nothing affords only a hold of nothing": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=0              -> short 0 of key:K
    hold c1 A 0..400 within key:K=0              -> held 0
    spent A key:K                                -> 0 held 0`,

  "limits and charges are exact up to the largest amount": `
    credit A 9007199254740991                    -> version 1
    hold c1 A 9007199254740990..9007199254740991 within key:K=9007199254740990 -> held 9007199254740990
    post c1 A cost 9007199254740989 within key:K -> charged 9007199254740989 off 0
    hold c2 A 2..9 within key:K=9007199254740990 -> short 1 of key:K
    hold c2 A 1..9 within key:K=9007199254740991 -> held 2
    spent A key:K                                -> 9007199254740989 held 2 uncommitted 9007199254740989`,

  "after a crash a purse has what its posted calls have spent, whether they were committed or not": `
    credit A 1000                                -> version 1
    hold c1 A 1..200 within key:K=500            -> held 200
    hold c2 A 1..100 within key:K=500            -> held 100
    hold c3 A 1..100 within key:K=500            -> held 100
    post c1 A cost 150 within key:K              -> charged 150 off 0
    commit                                       -> 1 committed
    post c2 A cost 70 within key:K               -> charged 70 off 0
    crash                                        -> ok
    acknowledge                                  -> 2 acknowledged
    hold c4 A 1..9999 within key:K=500           -> held 280
    spent A key:K                                -> 220 held 280
    ledger A                                     -> 780`,

  "a post whose hold a crash has taken counts against the purses that it names": `
    credit A 1000                                -> version 1
    hold c1 A 1..400 within key:K=500            -> held 400
    crash                                        -> ok
    acknowledge                                  -> 0 acknowledged
    load A                                       -> true
    load-purse A key:K                           -> true
    post c1 A cost 100 within key:K              -> charged 100 off 0
    spent A key:K                                -> 100 held 0 uncommitted 100
    wallet A                                     -> available 900 held 0 uncommitted 100
    acknowledge                                  -> 1 acknowledged
    spent A key:K                                -> 100 held 0`,
};
