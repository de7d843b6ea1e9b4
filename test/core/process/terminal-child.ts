/** Says in a file what a SIGHUP asks for. */
import { appendFileSync } from "node:fs";
import { isTerminalClosing } from "../../../core/process/terminal.ts";

const [file = ""] = process.argv.slice(2);
process.on("SIGHUP", () => appendFileSync(file, isTerminalClosing() ? "end " : "reload "));
process.on("SIGTERM", () => process.exit(0));
// Of a test that has failed.
setTimeout(() => process.exit(1), 60_000);
appendFileSync(file, `${process.pid} `);
