import assert from "node:assert/strict";
import t from "tap";
import { type CallState, STEPS } from "../../../core/http/http-call.ts";
import { newCall } from "../../support/call.ts";

/** The steps from a new call to each state. */
const WAYS: Readonly<Record<CallState, readonly CallState[]>> = {
  admitting: [],
  reading: ["reading"],
  requesting: ["reading", "requesting"],
  dispatched: ["reading", "requesting", "dispatched"],
  replying: ["reading", "requesting", "dispatched", "replying"],
  closing: ["closing"],
  ended: ["closing", "ended"],
};

/** Rows: current state. Columns, in the same order: next state. */
const TABLE = `
             admitting reading requesting dispatched replying closing ended
  admitting  -         yes     -          -          -        yes     -
  reading    -         -       yes        yes        -        yes     -
  requesting -         -       -          yes        -        yes     -
  dispatched -         -       -          yes        yes      yes     -
  replying   -         -       -          -          -        yes     -
  closing    -         -       -          -          -        -       yes
  ended      -         -       -          -          -        -       -
`;

const [head = [], ...rows] = TABLE.trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/) as CallState[]);

t.test("the steps of a call", async (t) => {
  t.test("match the table, for every state", async (t) => {
    t.strictSame(head, Object.keys(STEPS));
    t.strictSame(
      rows.map(([from]) => from),
      head,
    );
  });

  for (const [from = "ended", ...cells] of rows) {
    for (const [at, cell] of cells.entries()) {
      const to = head[at] ?? "ended";
      const isAllowed = String(cell) === "yes";
      t.test(`${isAllowed ? "lead" : "do not lead"} from ${from} to ${to}`, async (t) => {
        const call = newCall();
        for (const state of WAYS[from]) call.step(state);
        t.equal(call.state, from);
        if (isAllowed) call.step(to);
        else {
          assert.throws(
            () => call.step(to),
            new Error(`a call cannot go from "${from}" to "${to}"`),
          );
        }
        t.equal(call.state, isAllowed ? to : from);
      });
    }
  }
});
