import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import t from "tap";
import * as v from "valibot";
import type { Log } from "../../../core/process/log.ts";
import makePlugin, { options } from "../../../plugins/simulator/index.ts";
import { freePort } from "../../support/free-port.ts";
import { until } from "../../support/until.ts";

/** A log that keeps its errors. */
const errors: string[] = [];
const log = { error: (text: string) => errors.push(text) } as unknown as Log;

t.test("the simulator as a plugin", async (t) => {
  t.test("starts again, and says so, if a call makes it fail", async (t) => {
    const port = await freePort();
    const plugin = makePlugin({ log }, { port });
    await plugin.start?.();
    // Too deep to be written again, which the echo asks for.
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const ask = async (words: string, more = "0") => {
      const message = JSON.stringify({ role: "user", content: words });
      const body = `{ "model": "m", "messages": [${message}], "more": ${more} }`;
      const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        ...{ method: "POST", body },
      });
      return reply.status;
    };
    for (let round = 1; round <= 2; round++) {
      t.equal(await ask("x"), 200);
      await t.rejects(ask('[[sim {"echo":true}]]', deep));
      await until("it is back", () =>
        ask("x")
          .catch(() => false)
          .then((status) => status === 200),
      );
      t.match(errors[round - 1], /^the simulator failed, and starts again: Maximum call stack/);
      t.equal(errors.length, round);
    }
    await plugin.stop?.();
    await t.rejects(ask("x"));
  });

  t.test("listens once started, and not after it has stopped", async (t) => {
    const port = await freePort();
    const plugin = makePlugin({ log }, { port });
    const url = `http://127.0.0.1:${port}/healthz`;
    for (let round = 0; round < 2; round++) {
      await plugin.start?.();
      t.equal((await fetch(url)).status, 200);
      await plugin.stop?.();
      await t.rejects(fetch(url));
    }
  });

  t.test("says what to change if the port is in use", async (t) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const plugin = makePlugin({ log }, { port });
    await t.rejects(
      async () => plugin.start?.(),
      /uses the port, or this machine.*address\. .*- simulator: \{ port: \d+ \}/,
    );
    await plugin.stop?.();
    server.close();
  });

  t.test("checks its options and has defaults", async (t) => {
    t.strictSame(v.parse(options, {}), {
      port: 9001,
      host: "127.0.0.1",
      allow_public: false,
    });
    for (const wrong of [{ port: 0 }, { port: 70_000 }, { port: 1.5 }, { prot: 1 }]) {
      t.equal(v.safeParse(options, wrong).success, false);
    }
  });
});

t.test("the simulator as a program", async (t) => {
  t.test("prints how to use it, and a sentence for an option that it does not know", async (t) => {
    const main = fileURLToPath(new URL("../../support/provider/main.js", import.meta.url));
    const run = async (option: string) => {
      const child = spawn(process.execPath, [main, option]);
      const printed: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => printed.push(chunk));
      const [status] = await once(child, "close");
      return [status, Buffer.concat(printed).toString()] as const;
    };
    const usage = "npm run simulator -- [--port PORT] [--host HOST] [--lenient]\n";
    t.strictSame(await run("--help"), [0, usage]);
    const [status, text] = await run("--prot");
    t.equal(status, 2);
    t.match(text, /^Unknown option '--prot'/);
    t.ok(text.endsWith(usage));
  });

  t.test("prints its address and ends on SIGTERM, even with open calls", async (t) => {
    const main = fileURLToPath(new URL("../../support/provider/main.js", import.meta.url));
    const child = spawn(process.execPath, [main, "--port", "0"]);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const [, url] =
      /^simulator listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(line.toString()) ?? [];
    t.ok(url);
    const body = '{"model":"sim-hang","messages":[{"role":"user","content":"x"}]}';
    const hanging = fetch(`${url}/v1/chat/completions`, { method: "POST", body });
    const failed = t.rejects(hanging);
    await until("it hangs", async () => {
      const stats = await fetch(`${url}/_sim/stats`);
      return /"open":1/.test(await stats.text());
    });
    child.kill("SIGTERM");
    t.strictSame(await once(child, "exit"), [0, null]);
    await failed;
  });
});
