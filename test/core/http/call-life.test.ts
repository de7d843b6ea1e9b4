import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turnOver } from "node:timers/promises";
import t from "tap";
import { HttpCall } from "../../../core/http/http-call.ts";
import type { Call } from "../../../core/plugin/call.ts";
import type { AwaitableVerdict, Plugin } from "../../../core/plugin/plugin.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { RUN, runOf, startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const STAGES = ["admit", "request", "close"] as const;
const WAYS = ["passes", "passes late", "refuses", "refuses late", "throws", "rejects"] as const;
/** When the client leaves. */
const MOMENTS = ["never", "body", "admit", "request", "upstream", "event", "close"] as const;

type Stage = (typeof STAGES)[number];
type Way = (typeof WAYS)[number];
type Moment = (typeof MOMENTS)[number];

/** One call, and the events that its plugin saw. */
class Run {
  readonly seen: string[] = [];
  /** Verdicts not yet given. */
  pending = 0;
  client: RawClient | undefined = undefined;

  constructor(
    readonly stage: Stage,
    readonly way: Way,
    readonly moment: Moment,
  ) {}

  count(what: string): number {
    return this.seen.filter((entry) => entry === what).length;
  }

  /** The call has reached `moment`; resets the client if it should leave then. */
  reaches(moment: Moment): void {
    if (this.moment === moment) this.client?.reset();
  }

  /**
   * The plugin's verdict in `stage`. A late verdict waits until the server has seen the client
   * leave.
   */
  act(stage: "admit" | "request", call: Call): AwaitableVerdict {
    this.seen.push(stage);
    this.reaches(stage);
    const way = this.stage === stage ? this.way : "passes";
    if (way === "throws") throw new Error("a bug");
    if (way === "passes") return undefined;
    if (way === "refuses") return refuse.badRequest("no");
    this.pending++;
    return this.late(call, stage).then(() => {
      this.pending--;
      if (way === "rejects") throw new Error("a late bug");
      return way === "refuses late" ? refuse.badRequest("late") : undefined;
    });
  }

  close(call: Call): void | Promise<void> {
    assert.equal(this.pending, 0, "a verdict is pending");
    this.seen.push("close");
    this.reaches("close");
    if (this.stage !== "close" || this.way.startsWith("passes")) {
      return this.stage === "close" && this.way === "passes late"
        ? this.late(call, "close")
        : undefined;
    }
    if (this.way === "throws") throw new Error("a bug");
    if (this.way === "rejects") {
      return this.late(call, "close").then(() => {
        throw new Error("a late bug");
      });
    }
  }

  private async late(call: Call, stage: Stage): Promise<void> {
    await turnOver();
    if (this.moment === stage) await until("the client has left", () => call.gone);
  }
}

const runs = new Map<string, Run>();

const watching: Plugin = {
  name: "watching",
  admit: (call) => runs.get(runOf(call))?.act("admit", call),
  request: (call) => runs.get(runOf(call))?.act("request", call),
  stream(call, client) {
    const run = runs.get(runOf(call));
    return {
      head: (status, headers) => client.head(status, headers),
      event(event) {
        client.event(event);
        run?.reaches("event");
      },
      data: (bytes) => client.data(bytes),
      end: (outcome) => client.end(outcome),
    };
  },
  close: (call) => runs.get(runOf(call))?.close(call),
  ended(call) {
    for (const run of runs.values())
      if (run.seen.length > 0) run.seen.push(`ended ${call.outcome}`);
  },
};

const CHUNK = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';

/** Sends a stream. If the client should leave in the middle, its end waits for that. */
async function upstream(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const run = runs.get(String(request.headers[RUN]));
  for await (const _ of request);
  run?.reaches("upstream");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(CHUNK);
  if (run?.moment === "upstream" || run?.moment === "event") return;
  response.end(`${CHUNK}data: [DONE]\n\n`);
}

const BODY = JSON.stringify({
  model: "m",
  stream: true,
  messages: [{ role: "user", content: "x" }],
});

t.test("a call", async (t) => {
  const bare = await startServer(
    [watching],
    (request, response) => void upstream(request, response),
  );
  t.teardown(() => bare.close());

  async function send(run: Run): Promise<RawClient> {
    runs.clear();
    runs.set("1", run);
    const client = await RawClient.open(bare.port);
    run.client = client;
    const length = BODY.length + (run.moment === "body" ? 1 : 0);
    const headers = { [RUN]: "1", "content-length": String(length) };
    await client.send(rawPost("/v1/chat/completions", "key", BODY, headers));
    if (run.moment === "body") {
      await until("its headers have come", () => run.seen.length > 0);
      client.reset();
    }
    return client;
  }

  for (const stage of STAGES) {
    for (const way of WAYS) {
      // `close` has no verdict.
      if (stage === "close" && way.startsWith("refuses")) continue;
      for (const moment of MOMENTS) {
        t.test(
          `is closed once and reported once: ${stage} ${way}, the client leaves: ${moment}`,
          async (t) => {
            const run = new Run(stage, way, moment);
            const client = await send(run);
            await until("it is over", () => run.seen.some((entry) => entry.startsWith("ended")));
            await until("nothing is open", () => bare.server.callsInFlight.size === 0);
            const response = moment === "never" ? await client.response() : undefined;
            client.destroy();
            t.equal(run.count("close"), 1, String(run.seen));
            const ends = run.seen.filter((entry) => entry.startsWith("ended"));
            t.equal(ends.length, 1, String(run.seen));
            t.equal(run.seen.at(-1), ends[0], "reported after everything is closed");
            if (!response) return;
            if (stage === "close") {
              t.equal(ends[0], "ended complete");
              const isWhole = response.body.includes("[DONE]");
              t.equal(
                isWhole,
                way.startsWith("passes"),
                "the end is withheld unless all is closed",
              );
            } else t.strictSame([response.status, ends[0]], expected(way));
          },
        );
      }
    }
  }

  t.test("with a step out of order ends with 500, and the log names both states", async (t) => {
    const { send: request } = await bug({ request: (call) => step(call, "replying") });
    const { response, line } = await request();
    t.equal(response.status, 500);
    t.match(JSON.stringify(line), /from \\"requesting\\" to \\"replying\\"/);
    t.equal(line?.["state"], "requesting");
  });

  t.test("is not affected if `ended` of a plugin throws, nor are later plugins", async (t) => {
    let reported = 0;
    const { send: request, server } = await bug(
      {
        ended() {
          throw new Error("a bug in ended");
        },
      },
      { name: "later", ended: () => void reported++ },
    );
    const { response } = await request();
    t.equal(response.status, 200);
    t.equal(reported, 1);
    const line = server.logged.find(({ msg }) => String(msg).includes("after the end of a call"));
    t.equal(line?.["plugin"], "buggy");
  });
});

/** Only core may take this step; it stands for a bug in core. */
function step(call: Call, to: "replying"): undefined {
  assert.ok(call instanceof HttpCall);
  call.step(to);
}

/** Starts a server with a buggy plugin, for one call. */
async function bug(plugin: Omit<Plugin, "name">, ...others: Plugin[]) {
  const server = await startServer(
    [{ name: "buggy", ...plugin }, ...others],
    (request, response) => void upstream(request, response),
  );
  return {
    server,
    async send() {
      runs.clear();
      const client = await RawClient.open(server.port);
      await client.send(rawPost("/v1/chat/completions", "key", BODY));
      const response = await client.response();
      client.destroy();
      await until("it was reported", () => server.ended.length === 1);
      await server.close();
      return {
        response,
        line: server.logged.find(
          ({ msg }) => msg === "a plugin failed; its call ends with an error",
        ),
      };
    },
  };
}

/** Status and outcome of a call whose client stays. */
function expected(way: Way): [number, string] {
  if (way.startsWith("passes")) return [200, "ended complete"];
  return [way.startsWith("refuses") ? 400 : 500, "ended refused"];
}
