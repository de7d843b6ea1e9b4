/** Prints what a thread returns, and ends. */
import { BodyThreads } from "../../../core/body/threads.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { recordedLog } from "../../support/log.ts";

const bytes = Buffer.from('{"messages":[{"role":"user","content":"hello"}]}');
const threads = new BodyThreads(recordedLog().log);
const work = new URL("../body/thread-work/echo.js", import.meta.url);
const call = { id: "call", key: undefined, gone: false };
const result = await threads.run<{ said: string }>(call, work, { said: "hello" }, bytes);
console.log(isRefusal(result) ? result.status : result.said);
process.exit();
