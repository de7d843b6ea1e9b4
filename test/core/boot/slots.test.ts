import assert from "node:assert/strict";
import t from "tap";
import { type Owner, SlotBoard } from "../../../core/boot/slots.ts";
import type { ModelNames } from "../../../core/plugin/model-names.ts";
import type { PlainRequest } from "../../../core/plugin/router.ts";
import { isRefusal, refuse } from "../../../core/wire/refusal.ts";

const EXACT: ModelNames = { resolve: () => refuse.notFound("exact names only") };
const names = (word: string): ModelNames => ({ resolve: () => refuse.notFound(word) });

/** The values of core's own slots. */
const CORE = {
  wallets: "the wallets",
  operations: "the operations",
} as unknown as ConstructorParameters<typeof SlotBoard>[1];

const REQUEST: PlainRequest = {
  method: "GET",
  path: "/",
  params: {},
  query: new URLSearchParams(),
  headers: {},
  body: Buffer.alloc(0),
  remoteAddress: "127.0.0.1",
  addressBlock: "127.0.0.1",
  requestId: "1",
};

/** A board whose generations are sets of named owners. */
function setUp() {
  const board = new SlotBoard(EXACT, CORE);
  const core = board.slotsOf(undefined);
  const owner = (name: string, uses: Owner["uses"] = []): Owner => ({ name, uses });
  const serve = (...owners: Owner[]) => {
    board.start(new Set(owners));
    board.serve();
  };
  return { board, core, owner, serve };
}

t.test("a slot", async (t) => {
  t.test("without a provider refuses: guards with 503, others with their default", async (t) => {
    const { core } = setUp();
    const operator = await core.guards.operator.current(REQUEST);
    assert.ok(operator && isRefusal(operator));
    t.equal(operator.status, 503);
    t.match(operator.message, /plugin admin, which is switched off/);
    const customer = await core.guards.customer.current(REQUEST);
    assert.ok(isRefusal(customer));
    t.equal(customer.status, 503);
    t.equal(await core.customers.current.setPassword("a", "b"), false);
    t.equal(core.modelNames.current, EXACT);
    t.equal(core.keySealer.current, undefined);
    t.strictSame(core.discounts.all, []);
  });

  t.test("of core has its value for core, and for plugins that name it only", async (t) => {
    const { board, core, owner, serve } = setUp();
    const [settle, team] = [owner("settle", ["wallets"]), owner("team", ["customers"])];
    serve(settle, team);
    t.equal(core.wallets.current, CORE.wallets);
    t.equal(board.slotsOf(settle).wallets.current, CORE.wallets);
    t.throws(() => board.slotsOf(settle).operations.current, {
      message: "the plugin settle reads the slot operations: name it in the module's export `uses`",
    });
    t.throws(() => board.slotsOf(team).wallets.current, /the plugin team reads the slot wallets/);
  });

  t.test("returns the value of the newest provider, until it withdraws", async (t) => {
    const { board, core, owner, serve } = setUp();
    const [one, other] = [owner("one"), owner("other")];
    serve(one, other);
    const [first, second] = [names("first"), names("second")];
    const withdrawFirst = board.slotsOf(one).modelNames.provide(first);
    const withdrawSecond = board.slotsOf(other).modelNames.provide(second);
    t.equal(core.modelNames.current, second);
    withdrawSecond();
    t.equal(core.modelNames.current, first);
    withdrawFirst();
    withdrawFirst();
    t.equal(core.modelNames.current, EXACT);
  });

  t.test("never revives a stopped provider, after any number of reloads", async (t) => {
    const { board, core, owner, serve } = setUp();
    const [one, two] = [owner("accounts"), owner("accounts")];
    serve(one);
    board.slotsOf(one).modelNames.provide(names("one"));
    board.start(new Set([two]));
    board.slotsOf(two).modelNames.provide(names("two"));
    board.serve();
    board.withdraw(one);
    serve();
    board.withdraw(two);
    t.equal(core.modelNames.current, EXACT);
  });

  t.test("drops a plugin when a reload removes it, though its calls still run", async (t) => {
    const { board, core, owner, serve } = setUp();
    const one = owner("accounts");
    serve(one);
    const withdraw = board.slotsOf(one).modelNames.provide(names("one"));
    serve();
    t.equal(core.modelNames.current, EXACT);
    board.slotsOf(one).modelNames.provide(names("late"));
    t.equal(core.modelNames.current, EXACT);
    withdraw();
  });

  t.test(
    "shows a starting plugin the values of its own generation, and all others the serving ones",
    async (t) => {
      const { board, core, owner, serve } = setUp();
      const [old, next, demo] = [owner("accounts"), owner("accounts"), owner("demo")];
      serve(old);
      const [before, behind] = [names("before"), names("behind")];
      board.slotsOf(old).modelNames.provide(before);
      board.start(new Set([next, demo]));
      board.slotsOf(next).modelNames.provide(behind);
      t.equal(board.slotsOf(demo).modelNames.current, behind);
      t.equal(board.slotsOf(old).modelNames.current, before);
      t.equal(core.modelNames.current, before);
      board.serve();
      t.equal(core.modelNames.current, behind);
    },
  );

  t.test("shows core the values of the first generation while it starts", async (t) => {
    const { board, core, owner } = setUp();
    const accounts = owner("accounts");
    board.start(new Set([accounts]));
    const provided = names("accounts");
    board.slotsOf(accounts).modelNames.provide(provided);
    t.equal(core.modelNames.current, provided);
  });

  t.test("is unchanged after a failed reload", async (t) => {
    const { board, core, owner, serve } = setUp();
    const [kept, next] = [owner("kept"), owner("next")];
    serve(kept);
    const before = names("before");
    board.slotsOf(kept).modelNames.provide(before);
    board.start(new Set([kept, next]));
    board.slotsOf(next).modelNames.provide(names("never"));
    board.giveUp();
    board.withdraw(next);
    t.equal(core.modelNames.current, before);
    t.equal(board.slotsOf(kept).modelNames.current, before);
  });

  t.test("shared by several providers has one value for each running one", async (t) => {
    const { board, core, owner, serve } = setUp();
    const [one, other] = [owner("topup"), owner("loyalty")];
    serve(one, other);
    board.slotsOf(one).discounts.provide(async () => [{ name: "one", bps: 1, untilMs: 1 }]);
    board.slotsOf(other).discounts.provide(async () => [{ name: "other", bps: 2, untilMs: 1 }]);
    const found = await Promise.all(core.discounts.all.map((source) => source("a")));
    t.strictSame(
      found.flat().map(({ bps }) => bps),
      [1, 2],
    );
    serve(other);
    t.equal(core.discounts.all.length, 1);
  });
});
