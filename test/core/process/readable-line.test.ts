import t from "tap";
import { readableLine } from "../../../core/process/log.ts";

const AT = new Date(2026, 10, 27, 9, 12, 44).getTime();
const line = (fields: object) =>
  readableLine(`${JSON.stringify({ time: AT, pid: 7, ...fields })}\n`);

t.test("lines of the log are readable on a terminal", async (t) => {
  const reason = "connection refused";
  t.equal(
    line({ level: 40, reason, peer: "10.0.0.1", msg: "cannot reach Redis; new calls get 503" }),
    '09:12:44 warn cannot reach Redis; new calls get 503 reason="connection refused" peer=10.0.0.1\n',
  );
  t.equal(line({ level: 30, msg: "reloaded" }), "09:12:44 reloaded\n");
  const err = { type: "Error", message: "no", stack: "Error: no\n    at a.js:1" };
  t.equal(
    line({ level: 50, err, msg: "cannot start" }),
    "09:12:44 error cannot start err=Error: no\n    at a.js:1\n",
  );
});

t.test("a call is one short line, with the id that explains it", async (t) => {
  const call = {
    level: 30,
    call_id: "019a",
    model: "claude-opus-5-5",
    cost_vnd: "12.5",
    latency_ms: 940,
    msg: "call",
  };
  const text = (more: object) => line({ ...call, ...more });
  t.equal(
    text({ status: 200, outcome: "complete" }),
    "09:12:44 call 200 claude-opus-5-5, 12.5 đ, 940 ms  019a\n",
  );
  t.match(text({ status: 200, outcome: "gone" }), " call 200 gone claude");
  t.match(text({ status: 402, outcome: "refused" }), " call 402 claude");
});

t.test("what is not a line of the log stays as it is", async (t) => {
  for (const text of ["", "plain text\n", "[1]\n"]) t.equal(readableLine(text), text);
});
