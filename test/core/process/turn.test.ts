import { setImmediate as turnOver } from "node:timers/promises";
import t from "tap";
import { atEndOfTurn, reportThrownWork } from "../../../core/process/turn.ts";

t.test("work of a turn runs at its end, step by step, in any order of arrival", async (t) => {
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
});

t.test("work may add a later step to the same turn, and an earlier one to the next", async (t) => {
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
});

t.test("work that throws does not keep other work of its step from running", async (t) => {
  const done: string[] = [];
  const thrown: unknown[] = [];
  reportThrownWork((error) => thrown.push(error));
  const fault = new Error("a bug");
  atEndOfTurn("post", () => done.push("before"));
  atEndOfTurn("post", () => {
    throw fault;
  });
  atEndOfTurn("post", () => done.push("after"));
  await turnOver();
  t.strictSame(done, ["before", "after"]);
  t.strictSame(thrown, [fault]);
});
