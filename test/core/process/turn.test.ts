import { setImmediate as turnOver } from "node:timers/promises";
import t from "tap";
import { atEndOfTurn } from "../../../core/process/turn.ts";

t.test(
  "work of a turn is done at its end, step by step, whatever the order in which it came",
  async (t) => {
    const done: string[] = [];
    const put = (step: "request" | "reply" | "post", name: string) =>
      atEndOfTurn(step, () => done.push(name));
    put("post", "post 1");
    put("request", "request 1");
    put("reply", "reply 1");
    put("request", "request 2");
    t.strictSame(done, []);
    await turnOver();
    t.strictSame(done, ["request 1", "request 2", "reply 1", "post 1"]);
  },
);

t.test(
  "work may lead to a later step of the same turn, and to an earlier one of the next",
  async (t) => {
    const done: string[] = [];
    atEndOfTurn("reply", () => {
      done.push("reply");
      atEndOfTurn("post", () => done.push("post"));
      atEndOfTurn("request", () => done.push("request"));
    });
    await turnOver();
    t.strictSame(done, ["reply", "post"]);
    await turnOver();
    t.strictSame(done, ["reply", "post", "request"]);
  },
);
