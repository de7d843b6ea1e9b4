import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse, stringify } from "yaml";
import { packageRoot } from "../../core/process/root.ts";
import { committedWallet, createCustomer, credit, usage, wallet } from "../support/admin.ts";
import { ask, askUntilServed, bodyOf } from "../support/ask.ts";
import { download, post, read } from "../support/download.ts";
import { mainProgram, startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, callsInFlight, noCallsInFlight, spent } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { until } from "../support/until.ts";
import { shortLivedFlags } from "../support/v8-flags.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 100_000;
const TOKENS = { input_tokens: 100, output_tokens: 50 };
/** The price of 100 + 50 tokens at 36,000 đ a million. */
const PRICE_VND = "5.4";
/** A stream that pauses in its middle until the simulator releases the name. */
const lastingUntil = (until: string) =>
  ({ ...TOKENS, deltas: 50, silent_ms: 600_000, silent_after_events: 20, until }) as const;

let simulator: TestSimulator;
let folder: string;

t.before(async () => {
  simulator = await startTestSimulator();
  folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
});
t.teardown(async () => {
  await simulator.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the gateway's main program until it exits by itself. */
async function runMain(configFile: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    [...shortLivedFlags(), mainProgram(), "--config", configFile],
    { cwd: folder },
  );
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  return { code, output };
}

/** The config of a gateway as an operator would write it, for tests that change its text. */
function yamlOf({ configFile }: TestGateway): string {
  return stringify(parse(readFileSync(configFile, "utf8")), { aliasDuplicateObjects: false });
}

async function refusesConnections(port: number): Promise<boolean> {
  try {
    (await RawClient.open(port)).destroy();
    return false;
  } catch {
    return true;
  }
}

t.test("SIGTERM", async (t) => {
  let gateway: TestGateway;

  t.before(async () => {
    // Long, for a busy machine: no test waits for it.
    gateway = await startGateway({ simulator, config: { limits: { drain_seconds: 60 } } });
  });
  t.teardown(() => gateway.close());

  t.test(
    "lets a running stream finish and be charged, accepts no new call, and exits with 0",
    async (t) => {
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const idle = await RawClient.open(gateway.port);
      await idle.send(rawPost(PATH, key, bodyOf(PATH, { input_tokens: 1, output_tokens: 1 })));
      t.equal((await idle.response()).status, 200);
      const headers = { "x-api-key": key };
      const url = gateway.url + PATH;
      const stream = await post(
        url,
        bodyOf(PATH, lastingUntil("stopping"), { stream: true }),
        headers,
      );
      const waiting = { ...TOKENS, delay_ms: 600_000, until: "stopping" };
      const answer = download(url, bodyOf(PATH, waiting), headers);
      await until("both calls are open", async () => (await callsInFlight(gateway)) === 2);

      const stopped = gateway.stop();
      await until("new connections are refused", () => refusesConnections(gateway.port));
      await idle.send(rawPost(PATH, key, bodyOf(PATH)));
      const late = await idle.response();
      t.equal(late.status, 503);
      t.match(late.body.toString(), /"service_unavailable"/);
      await idle.closed;

      await gateway.simulator.release("stopping");
      const streamed = await read(stream, { keep: true });
      t.equal(streamed.error, undefined);
      t.match(streamed.body.toString(), /event: message_stop/);
      const answered = await answer;
      t.equal(answered.status, 200);
      t.equal(answered.headers["x-svc-cost-vnd"], PRICE_VND);
      t.equal(await stopped, 0);

      await gateway.start();
      await committedWallet(gateway, accountId);
      const costs = (await usage(gateway, accountId)).map((record) => record["cost_vnd"]);
      t.strictSame(costs.sort(), ["0.072", PRICE_VND, PRICE_VND]);
      await assertReconciled(gateway);
    },
  );

  t.test("replies to every request of a connection before it cuts it", async (t) => {
    const client = await RawClient.open(gateway.port);
    await client.send(rawPost(PATH, "tg-none", bodyOf(PATH)));
    t.equal((await client.response()).status, 401);
    const stopped = gateway.stop();
    for (let isLast = false; !isLast; ) {
      await client.send(rawPost(PATH, "tg-none", bodyOf(PATH)));
      const { status, headers } = await client.response();
      isLast = headers["connection"]?.toLowerCase() === "close";
      t.equal(status, isLast ? 503 : 401);
    }
    await client.closed;
    t.equal(await stopped, 0);
    await gateway.start();
  });

  t.test("gives a stop the time that a reload has set", async (t) => {
    gateway.configure({ config: { limits: { drain_seconds: 600 } } });
    gateway.signal("SIGHUP");
    await until("the reload is done", () => gateway.logs.includes('"reloaded"'));
    t.equal(await gateway.stop(), 0);
    t.match(gateway.logs, /"limitMs":660000,"msg":"stopping; calls in flight may finish"/);
    gateway.configure({});
    await gateway.start();
  });

  t.test(
    "ends calls that exceed the drain limit with an error in their protocol, charged as delivered",
    async (t) => {
      await gateway.stop();
      gateway.configure({ config: { limits: { drain_seconds: 1 } } });
      await gateway.start();
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const endless = {
        text: "word ".repeat(20),
        deltas: 20,
        silent_ms: 600_000,
        silent_after_events: 6,
      };
      const body = bodyOf(PATH, endless, { stream: true });
      const stream = await post(gateway.url + PATH, body, { "x-api-key": key });
      const reading = read(stream, { keep: true });
      await until("it is open", async () => (await callsInFlight(gateway)) === 1);
      t.equal(await gateway.stop(), 0);
      const text = (await reading).body.toString();
      t.match(text, /event: error\ndata: .*service_unavailable/);
      t.notMatch(text, /message_stop/);

      await gateway.start();
      t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
      const [record] = await usage(gateway, accountId);
      t.equal(record?.["outcome"], "broken");
      t.equal(record?.["estimated"], true);
      t.equal((await wallet(gateway, accountId)).held, "0");
    },
  );
});

t.test("SIGTERM with the data folder gone", async (t) => {
  t.test("still ends a gateway", async (t) => {
    const gateway = await startGateway({ simulator, ledger: "embedded" });
    try {
      rmSync(gateway.data, { recursive: true, force: true });
      // `stop` throws if the process does not end.
      t.ok([0, 1].includes((await gateway.stop()) ?? -1), gateway.logs);
    } finally {
      await gateway.close();
    }
  });
});

t.test("SIGHUP", async (t) => {
  let gateway: TestGateway;
  let catalogue: string;

  t.before(async () => {
    catalogue = join(folder, "catalogue.yaml");
    cpSync(join(packageRoot, "config", "catalogue.yaml"), catalogue);
    gateway = await startGateway({ simulator, config: { catalogue } });
  });
  t.teardown(() => gateway.close());

  const reprice = (from: number, to: number) => {
    const entry = `- id: claude-opus-5-5\n    price_vnd_per_mtok: `;
    const text = readFileSync(catalogue, "utf8");
    assert.ok(text.includes(entry + from));
    writeFileSync(catalogue, text.replace(entry + from, entry + to));
  };

  t.test("applies a new price to new calls, while running calls keep theirs", async (t) => {
    const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
    const waiting = { ...TOKENS, delay_ms: 600_000, until: "reloaded" };
    const running = ask(gateway.url, key, PATH, bodyOf(PATH, waiting));
    const lasting = bodyOf(PATH, lastingUntil("reloaded"), { stream: true });
    const stream = ask(gateway.url, key, PATH, lasting);
    await until("both are open", async () => (await callsInFlight(gateway)) === 2);

    reprice(36_000, 20_000);
    gateway.signal("SIGHUP");
    await until("the reload is done", () => gateway.logs.includes('"reloaded"'));
    const next = await ask(gateway.url, key, PATH, bodyOf(PATH, TOKENS));
    t.equal(next.headers.get("x-svc-price-vnd-per-mtok"), "20000");
    t.equal(next.headers.get("x-svc-cost-vnd"), "3");
    await next.text();

    await gateway.simulator.release("reloaded");
    const before = await running;
    t.equal(before.headers.get("x-svc-price-vnd-per-mtok"), "36000");
    t.equal(before.headers.get("x-svc-cost-vnd"), PRICE_VND);
    await before.text();
    t.match(await (await stream).text(), /message_stop/);
    await noCallsInFlight(gateway);
    t.equal(await spent(gateway, accountId, CREDIT_VND), 13_800_000n);
    reprice(20_000, 36_000);
  });

  for (const [name, spoil] of [
    ["that is no YAML", () => writeFileSync(gateway.configFile, "listen: [")],
    ["with an unknown key", () => gateway.configure({ config: { listne: {} } })],
    [
      "whose plugin cannot start",
      () => gateway.configure({ plugins: { simulator: { port: simulator.port } } }),
    ],
  ] as const) {
    t.test(`with a config ${name} changes nothing, and logs it`, async (t) => {
      const { key } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const lines = () => gateway.logs.match(/"level":50,.*keeping the old one/g)?.length ?? 0;
      const before = lines();
      spoil();
      gateway.signal("SIGHUP");
      await until("the error is logged", () => lines() === before + 1);
      const response = await ask(gateway.url, key, PATH, bodyOf(PATH, { output_tokens: 1 }));
      t.equal(response.status, 200);
      await response.text();
      const reloads = () => gateway.logs.match(/"reloaded"/g)?.length ?? 0;
      const reloaded = reloads();
      gateway.configure({});
      gateway.signal("SIGHUP");
      await until("a valid config is applied again", () => reloads() === reloaded + 1);
    });
  }
});

t.test("a start", async (t) => {
  let gateway: TestGateway;

  t.before(async () => {
    gateway = await startGateway({ simulator });
  });
  t.teardown(() => gateway.close());

  t.test(
    "on a data folder in use by another gateway is refused, with the folder in the message",
    async (t) => {
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const second = join(folder, "second.yaml");
      const text = yamlOf(gateway);
      writeFileSync(second, text.replace(`port: ${gateway.port}`, "port: 0"));
      const { code, output } = await runMain(second);
      t.equal(code, 1);
      t.match(output, /is in use by .*; stop it first/);
      t.ok(output.includes(gateway.data), output);
      t.notMatch(output, /\n\s+at /, "a message, not a stack");

      const response = await ask(gateway.url, key, PATH, bodyOf(PATH));
      t.equal(response.status, 200, "the first gateway still serves");
      await response.text();
      t.ok((await spent(gateway, accountId, CREDIT_VND)) > 0n);
    },
  );

  t.test("on a port in use is refused, with what to do about it", async (t) => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    assert.ok(typeof address === "object" && address);
    await gateway.stop();
    const file = join(folder, "taken.yaml");
    const text = yamlOf(gateway);
    writeFileSync(file, text.replace(`port: ${gateway.port}`, `port: ${address.port}`));
    const { code, output } = await runMain(file);
    other.close();
    t.equal(code, 1);
    t.match(
      output,
      // A slow machine logs that it waits for the ledger.
      new RegExp(`^listen\\.port: port ${address.port} of 127\\.0\\.0\\.1 is in use; .*$`, "m"),
    );
    t.notMatch(output, /\n\s+at /);
    await gateway.start();
  });

  t.test(
    "with several errors in the config exits with 1 and prints all of them, with file and path",
    async (t) => {
      const file = join(folder, "wrong.yaml");
      const text = yamlOf(gateway);
      const wrong = text
        .replace(`port: ${gateway.port}`, "port: 99999")
        .replace("catalogue:", "limits: { call_seconds: soon }\ncatalogue:")
        .replace("- meter", "- metre");
      writeFileSync(file, wrong.replace(/^limits:\n(?: .*\n)+/m, ""));
      const { code, output } = await runMain(file);
      t.equal(code, 1);
      for (const part of ["wrong.yaml", "listen.port", "limits.call_seconds", "metre"]) {
        t.ok(output.includes(part), `${part} in:\n${output}`);
      }
      t.notMatch(output, /\n\s+at /);
    },
  );

  t.test("with a config that does not exist exits with 1", async (t) => {
    const { code, output } = await runMain(join(folder, "none.yaml"));
    t.equal(code, 1);
    t.ok(output.includes("none.yaml"), output);
  });

  t.test("from an empty folder creates everything it needs, and keeps it", async (t) => {
    const startedAt = performance.now();
    const fresh = await startGateway({ simulator, firstStart: true });
    t.comment(`ready ${Math.round(performance.now() - startedAt)} ms after an empty folder`);
    try {
      const { key, accountId } = await createCustomer(fresh, { creditVnd: 10 });
      const refused = (why: string) => t.comment(`refused: ${why}\n${fresh.logs}`);
      const first = await askUntilServed(refused, fresh.url, key, PATH, bodyOf(PATH));
      t.equal(first.status, 200);
      t.equal(await fresh.stop(), 0);
      await fresh.start();
      t.equal(
        await credit(fresh, accountId, "5"),
        String((await wallet(fresh, accountId)).balance),
      );
      t.equal((await usage(fresh, accountId)).length, 1);
    } finally {
      await fresh.close();
    }
  });
});
