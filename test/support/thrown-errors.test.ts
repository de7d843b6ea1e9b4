import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, relative } from "node:path";
import t from "tap";
import { Parser } from "tap-parser";
import { FILES_TOGETHER, type FileResults, ProcessResults } from "./tap-results.ts";
import { testFolder } from "./test-processes.ts";

/** All errors but the first reach no code of the test, which waits for something that does not happen. */
const FILE = `import { EventEmitter } from "node:events";
import t from "tap";
const never = new Promise(() => {});
t.test("throws", async () => { throw new Error("of a test"); });
t.test("a group", async (t) => {
  t.test("passes", async (t) => t.ok(true));
  t.test("has a callback", async (t) => {
    setTimeout(() => { throw new Error("of a callback"); }, 1);
    await never;
  });
  t.test("passes too", async (t) => t.ok(true));
});
t.test("has an event", async () => {
  process.nextTick(() => new EventEmitter().emit("error", new Error("of an event")));
  await never;
});
t.test("has a rejection", async () => {
  Promise.reject(new Error("of a rejection"));
  await never;
});
t.test("rejects with a text", async () => {
  Promise.reject("a text");
  await never;
});
t.test("listens", async (t) => {
  const heard = new Promise((resolve) => process.once("uncaughtException", resolve));
  Promise.reject(new Error("expected"));
  t.equal((await heard).message, "expected");
});
t.test("leaves a timer", async () => {
  setTimeout(() => { throw new Error("of a timer"); }, 50);
});
`;

/** Runs the file as a run does, and reads its results. */
async function resultsOf(file: string): Promise<FileResults> {
  const path = relative(testFolder, file);
  const child = spawn(process.execPath, [join(testFolder, "support", "together.js"), path], {
    env: { ...process.env, [FILES_TOGETHER]: path, TAP_TIMEOUT: "60" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const parser = new Parser();
  const found: FileResults[] = [];
  const results = new ProcessResults(parser, [path], (file) => found.push(file));
  child.stdout.pipe(parser);
  const [code] = await once(child, "close");
  results.end(code || undefined);
  const [inFile] = found;
  if (!inFile) throw new Error("no results");
  return inFile;
}

t.test("an error that reaches no code of a test fails the test that runs", async (t) => {
  const folder = t.testdir({ "some.test.mjs": FILE });
  const { passed, failures } = await resultsOf(join(folder, "some.test.mjs"));
  t.match(failures, [
    { name: "throws", why: /of a test/ },
    { name: "a group > has a callback", why: /of a callback/ },
    { name: "has an event", why: /of an event/ },
    { name: "has a rejection", why: /of a rejection/ },
    { name: "rejects with a text", why: /a text/ },
    { name: "the file", why: /of a timer/ },
  ]);
  t.equal(failures.length, 6);
  t.equal(passed, 4, "two that pass, one that listens, one that leaves a timer");
});
