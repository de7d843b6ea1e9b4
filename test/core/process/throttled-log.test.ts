import assert from "node:assert/strict";
import { test } from "node:test";
import { QuietLog } from "../../../core/process/throttled-log.ts";
import { recordedLog } from "../../support/log.ts";

test("what strikes every call is told at once, then every ten seconds with how often it struck", () => {
  const { log, lines } = recordedLog();
  let nowMs = 0;
  const quiet = new QuietLog(log, () => nowMs);
  for (; nowMs < 25_000; nowMs += 100) quiet.warn({ at: nowMs }, "away");
  quiet.warn({}, "something else");
  assert.deepEqual(
    lines.map(({ at, unsaid, msg }) => [msg, at, unsaid]),
    [
      ["away", 0, undefined],
      ["away", 10_000, 99],
      ["away", 20_000, 99],
      ["something else", undefined, undefined],
    ],
  );
});
