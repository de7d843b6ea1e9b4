/** Writes lines to the log when its parent says so, and replies with what became of them. Ends at `end`. */
import { createLog } from "../../../core/process/log.ts";

const LINES = 1_000;
const TEXT = "x".repeat(1_000);

const log = createLog("info");
let written = 0;

process.on("message", async (message) => {
  if (message === "end") {
    // The last lines, and then the line that says how many were lost.
    for (let times = 0; times < 2; times++) {
      log.flush();
      await new Promise((resolve) => process.stdout.write("", resolve));
    }
    return process.disconnect();
  }
  if (message === "long") {
    log.info({ text: "đ".repeat(20_000) }, "a long line");
    return log.info("the next line");
  }
  for (let line = 0; line < LINES; line++) log.info({ n: written++, text: TEXT }, "a line");
  log.flush();
  setImmediate(() => {
    const { writableLength: waitingBytes } = process.stdout;
    process.send?.({ written, waitingBytes, lost: log.lostLines() });
  });
});
