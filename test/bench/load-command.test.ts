import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { agentCall, KINDS, PROTOCOLS } from "../../bench/load/agent-calls.ts";
import { loadOptionsOf } from "../../bench/load/options.ts";
import type { Run } from "../../bench/load/run.ts";
import { packageRoot } from "../../core/process/root.ts";
import { startBrowser } from "../support/browser.ts";
import { type LocalServer, startLocalServer } from "../support/local-server.ts";
import { type Simulator, startSimulator } from "../support/provider/server.ts";
import { judge } from "../support/strict/index.ts";

const KEY = "sk-load-secret";
const folder = mkdtempSync(join(tmpdir(), "load-command-"));
const jsonFile = join(folder, "run.json");
const htmlFile = join(folder, "run.html");

let simulator: Simulator;
/** A gateway that charges 2 đ for a call and states 1.5 đ. */
let dear: LocalServer;
/** One that takes 400 ms for a call, and charges it. */
let slow: LocalServer;

t.before(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, judge });
  dear = await startCharging("1.5", 0);
  slow = await startCharging("2", 400);
});

t.teardown(async () => {
  simulator.close();
  await dear.stop();
  await slow.stop();
  rmSync(folder, { recursive: true });
});

t.test("agents' bodies of every kind and protocol pass a strict provider", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const kind of KINDS) {
      for (const bytes of [1_024, 16_384, 100_001]) {
        const { path, body } = agentCall({
          ...{ protocol, kind, bytes, model: MODELS[protocol], stream: false },
          ...{ maxTokens: 50, prompt: "Go on." },
        });
        t.equal(Buffer.byteLength(body), bytes, `${protocol}, ${kind}`);
        t.equal(body.includes("write_file"), kind !== "prose");
        t.match(body, /(book|left).*\1/, "it has turns of its kind");
        const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
        const own = { ...headers, "x-api-key": "k", authorization: "Bearer k" };
        const url = `http://127.0.0.1:${simulator.port}${path}`;
        const response = await fetch(url, { method: "POST", headers: own, body });
        t.equal(response.status, 200, await response.text());
      }
    }
  }
});

t.test("a load of two seconds, its figures and its report", async (t) => {
  const { status, out, err } = await load(
    ...["--url", `http://127.0.0.1:${simulator.port}`, "--model", MODELS.chat, "--key", KEY],
    ...["--rate", "20-60,50", "--for", "2s", "--stream", "--name", "a <load>"],
    ...["--json", jsonFile, "--html", htmlFile, "--max-p90", "60s"],
  );
  t.equal(status, 0, err);
  t.match(out, "0 of 90 calls failed; 90 succeeded");
  t.match(out, /first token .*\n *between events/);
  t.match(out, "kept: --max-errors 0.100 %, is 0.0 %", "the bound of every run");
  t.match(out, "kept: --max-p90 60.00 s");
  t.match(err, /ok\/s .* 0 failed .* in flight/, "a line while it runs");
  const run: Run = JSON.parse(readFileSync(jsonFile, "utf8"));
  t.equal(run.report.calls, 90);
  const inColumns = run.report.columns.reduce((sum, [, calls]) => sum + calls, 0);
  const inSeconds = run.report.timeline.reduce((sum, { calls }) => sum + calls, 0);
  t.strictSame([inColumns, inSeconds], [90, 90]);
  for (const text of [out, err, readFileSync(jsonFile, "utf8"), readFileSync(htmlFile, "utf8")]) {
    t.notMatch(text, KEY, "the key is in no result");
  }
});

t.test("the report needs no other file", async (t) => {
  const browser = await startBrowser();
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => problems.push(message.text()));
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`file://${htmlFile}`);
  await page.locator("#times canvas").waitFor();
  t.equal(await page.locator("canvas").count(), 3);
  t.equal(await page.locator("h1").textContent(), "a <load>");
  t.strictSame(requests, [`file://${htmlFile}`]);
  t.strictSame(problems, []);
});

t.test("a comparison, bounds that are exceeded, and money that is wrong", async (t) => {
  const { status, out } = await load(
    ...["--url", `${dear.url}/v1`, "--model", "m", "--connections", "2", "--for", "1ms"],
    ...["--compare", jsonFile, "--max-drift", "0", "--max-p50", "1us", "--max-p99", "1s"],
  );
  t.equal(status, 1);
  t.match(out, /before .*\n *change .*%/);
  t.match(out, "! The earlier run had another load: streamed chat calls of 1 KB (prose); 20-60,50");
  t.match(out, "the balance fell by 4 đ, the replies state 3 đ: NOT EQUAL");
  t.match(out, "! The balance fell by 4 đ");
  t.match(out, "NOT KEPT: --max-drift 0 đ, is 1 đ");
  t.match(out, "NOT KEPT: --max-p99 1.00 s, is not known: fewer than 100 good calls");
  t.match(out, "NOT KEPT: --max-p50 1 µs");
});

t.test("calls that time out may have been charged, and a late reply is none", async (t) => {
  const { status, out } = await load(
    ...["--url", `${slow.url}/v1`, "--model", "m", "--rate", "10", "--for", "0.5s"],
    ...["--connections", "1", "--timeout", "300ms", "--max-errors", "100%", "--max-drift", "0"],
  );
  t.equal(status, 1);
  t.match(out, /\d × (no whole reply|HTTP 200, but not) within 0\.3 s/);
  t.match(out, /! \d calls without a good reply may have been charged too/);
  t.match(out, "NOT KEPT: --max-drift 0 đ, is not known: no balance, or calls whose cost");
  t.notMatch(out, "money is wrong");
});

t.test("a reply with status 200 that is none", async (t) => {
  const replies: readonly (readonly [type: string, body: string, failure: string])[] = [
    ["application/json", '{"error": {"message": "full"}}', "HTTP 200 with an error as its body"],
    ["application/json", '{"type": "error", "error": {}}', "HTTP 200 with an error as its body"],
    ["text/html", "<p>{}</p>", "the reply is text/html instead of application/json"],
    ["text/event-stream", 'data: {"a": 1}\n\n', "the reply is text/event-stream instead of"],
    ["application/json", '{"a": 1', "the reply does not end with }"],
    ["application/json; charset=utf-8", '{"error": null}', "0 of 2 calls failed"],
  ];
  for (const [type, body, failure] of replies) {
    const server = await startLocalServer((_, response) =>
      response.writeHead(200, { "content-type": type }).end(body),
    );
    t.teardown(() => server.stop());
    const { out, status } = await load(
      ...["--url", server.url, "--model", "m", "--rate", "20", "--for", "100ms"],
    );
    t.match(out, failure);
    t.equal(status, failure.startsWith("0 of") ? 0 : 1, "a void run ends with 1");
  }
});

t.test("Ctrl-C ends a run with what it has, and with 130", async (t) => {
  const args = ["--url", dear.url, "--model", "m", "--rate", "20", "--for", "60s"];
  const { status, out } = await load(...args, "SIGINT");
  t.equal(status, 130);
  t.match(out, "! Stopped early");
});

t.test("a server that refuses all", async (t) => {
  const body = join(folder, "body.json");
  writeFileSync(body, JSON.stringify({ model: "sim-status-429", messages: [], stream: true }));
  const url = `http://127.0.0.1:${simulator.port}/v1/messages`;
  const { status, out } = await load("--url", url, "--rate", "20", "--for", "0.5s", "--body", body);
  t.equal(status, 1);
  t.match(out, "10 of 10 calls failed (100.0 %)");
  t.match(out, /10 × HTTP \d+: {.*error/);
  t.match(out, "! Void: 10 of 10 calls failed.");
  t.notMatch(out, "p50");
});

t.test("wrong arguments", async (t) => {
  const to = ["--url", "http://127.0.0.1:1"];
  const good = [...to, "--model", "m", "--rate", "1"];
  const wrong: (readonly [string[], string | RegExp])[] = [
    [[], "--url is missing"],
    [["--url", "localhost:1"], "--url must begin with http:// or https://"],
    [to, "--model is missing"],
    [[...to, "--model", "m"], "--rate or --connections is missing"],
    [[...good, "--rate", "0"], "--rate must be such as 500, 100,200 or 10-1000, not 0"],
    [[...good, "--size", "3MB"], "--size must be from 1KB to 2MB, not 3MB"],
    [[...good, "--protocol", "gemini"], "--protocol must be messages, chat, responses, not gemini"],
    [[...good, "--max-p99", "50"], "--max-p99 must be such as 50ms or 1.5s, not 50"],
    [[...good, "--max-errors", "1"], "--max-errors must be such as 0.1%, not 1"],
    [[...good, "--body", "/none"], "--body /none: ENOENT"],
    [[...good, "--header", "x"], "--header must be such as 'x-team: blue', not x"],
    [[...good, "--compare", htmlFile], /^--compare .*JSON/],
    [[...good, "--for", "never"], "--for must be a time such as 500ms, 30s or 2m"],
    [[...good, "--for", "3"], "--for must be a time such as 500ms, 30s or 2m"],
    [[...good, "--max-first-p99", "1s"], "--max-first-p99 needs --stream"],
    [[...good, "--json", "/none/run.json"], "--json /none/run.json: ENOENT"],
    [[...good, "--html", folder], `--html ${folder}: this is a folder`],
    [[...good, "--speed", "1"], "Unknown option '--speed'"],
  ];
  // In this process: one of its own takes 0.4 s.
  const exits = t.capture(process, "exit", () => {
    throw new Error("exits");
  });
  const said = t.capture(console, "error");
  for (const [args, problem] of wrong) {
    t.throws(() => loadOptionsOf(args), { message: "exits" }, args.join(" "));
    t.strictSame(exits()[0]?.args, [2]);
    const [text] = said()[0]?.args ?? [];
    t.match(text, problem);
    t.ok(text.split("\n").length <= 3, "the problem is not lost in a long usage");
  }
  const { status, err } = await load();
  t.equal(status, 2);
  t.match(err, "--url is missing");
});

const MODELS = { messages: "claude-haiku-5-5", chat: "gpt-4.1", responses: "gpt-5.6" } as const;

interface End {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a load. As the last argument, a signal is sent once its first line has come. */
function load(...args: string[]): Promise<End> {
  const program = join(packageRoot, "dist", "bench", "index.js");
  const signal = args.at(-1) === "SIGINT" ? "SIGINT" : undefined;
  const options = signal === undefined ? args : args.slice(0, -1);
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, "load", ...options], (_, out, err) =>
      resolve({ status: child.exitCode ?? -1, out, err }),
    );
    if (signal !== undefined) child.stderr?.once("data", () => child.kill(signal));
  });
}

/** Starts a server that charges 2 đ for a call and states a cost. */
function startCharging(statedVnd: string, delayMs: number): Promise<LocalServer> {
  let balance = 1_000;
  return startLocalServer((request, response) => {
    if (request.url === "/v1/balance") {
      const wallet = { balance_vnd: String(balance), held_vnd: "0", pending_vnd: "0.0" };
      return response.end(JSON.stringify(wallet));
    }
    balance -= 2;
    const headers = { "content-type": "application/json", "x-svc-cost-vnd": statedVnd };
    setTimeout(() => response.writeHead(200, headers).end("{}"), delayMs);
  });
}
