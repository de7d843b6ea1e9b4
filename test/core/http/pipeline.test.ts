import t from "tap";
import { Pipeline } from "../../../core/http/pipeline.ts";
import { COMPLETE } from "../../../core/plugin/call.ts";
import type { Plugin, Sink } from "../../../core/plugin/plugin.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { newCall } from "../../support/call.ts";

/** A plugin that records its calls; `changes` replaces parts of it. */
function noting(name: string, notes: string[], changes: Partial<Plugin> = {}): Plugin {
  return {
    name,
    admit() {
      notes.push(`admit ${name}`);
      return undefined;
    },
    request() {
      notes.push(`request ${name}`);
      return undefined;
    },
    stream(_call, client): Sink {
      notes.push(`stream ${name}`);
      return {
        head: (status, headers) => client.head(status, headers),
        event(event) {
          notes.push(`event ${name}`);
          client.event(event);
        },
        data: (bytes) => client.data(bytes),
        end(outcome) {
          notes.push(`end ${name}`);
          client.end(outcome);
        },
      };
    },
    close() {
      notes.push(`close ${name}`);
    },
    ...changes,
  };
}

const clientSink = (notes: string[]): Sink => ({
  head() {},
  event: () => void notes.push("event client"),
  data() {},
  end: () => void notes.push("end client"),
});

const tick = () => new Promise((resolve) => setImmediate(resolve));

t.test("the pipeline", async (t) => {
  t.test(
    "runs requests first to last, bytes last to first, and closes first to last",
    async (t) => {
      const notes: string[] = [];
      const pipeline = new Pipeline([noting("a", notes), noting("b", notes), noting("c", notes)]);
      const call = newCall();
      t.equal(pipeline.run("admit", call), undefined);
      t.equal(pipeline.run("request", call), undefined);
      const sink = pipeline.wrap(call, clientSink(notes));
      sink.head(200, []);
      sink.event(new ServerEvent(Buffer.from("data: x\n\n")));
      sink.end(COMPLETE);
      t.equal(pipeline.close(call), undefined);
      t.strictSame(notes, [
        ...["admit a", "admit b", "admit c"],
        ...["request a", "request b", "request c"],
        ...["stream a", "stream b", "stream c"],
        ...["event c", "event b", "event a", "event client"],
        ...["end c", "end b", "end a", "end client"],
        ...["close a", "close b", "close c"],
      ]);
    },
  );

  for (const stage of ["admit", "request"] as const) {
    t.test(
      `stops at the first refusal in ${stage}, and closes only the plugins reached`,
      async (t) => {
        const notes: string[] = [];
        const refusal = refuse.badRequest("no");
        const pipeline = new Pipeline([
          noting("a", notes),
          noting("b", notes, { [stage]: () => refusal }),
          noting("c", notes),
        ]);
        const call = newCall();
        t.equal(pipeline.run(stage, call), refusal);
        pipeline.close(call);
        t.strictSame(notes, [`${stage} a`, "close a", "close b"]);
      },
    );
  }

  t.test(
    "closes every plugin reached by admission, though an early one refused the request",
    async (t) => {
      const notes: string[] = [];
      const pipeline = new Pipeline([
        noting("a", notes, { request: () => refuse.badRequest("no") }),
        noting("b", notes),
      ]);
      const call = newCall();
      pipeline.run("admit", call);
      pipeline.run("request", call);
      notes.length = 0;
      pipeline.close(call);
      t.strictSame(notes, ["close a", "close b"]);
    },
  );

  t.test("closes no plugin if the call has reached none", async (t) => {
    const notes: string[] = [];
    new Pipeline([noting("a", notes)]).close(newCall());
    t.strictSame(notes, []);
  });

  t.test("returns a promise only if a plugin does", async (t) => {
    const notes: string[] = [];
    const late = noting("late", notes, { request: async () => undefined });
    const pipeline = new Pipeline([noting("a", notes), late, noting("b", notes)]);
    const call = newCall();
    t.equal(pipeline.run("admit", call), undefined);
    const verdict = pipeline.run("request", call);
    t.ok(verdict instanceof Promise);
    t.ok(!notes.includes("request b"), "the next plugin waits");
    t.equal(await verdict, undefined);
    t.ok(notes.includes("request b"));
  });

  t.test("handles an asynchronous refusal like a synchronous one", async (t) => {
    const notes: string[] = [];
    const refusal = refuse.badRequest("late");
    const late = noting("late", notes, { admit: async () => refusal });
    const pipeline = new Pipeline([late, noting("b", notes)]);
    const call = newCall();
    t.equal(await pipeline.run("admit", call), refusal);
    pipeline.close(call);
    t.strictSame(notes, ["close late"]);
  });

  t.test("runs no further plugin for a client that left while one was running", async (t) => {
    const notes: string[] = [];
    let finish: () => void = () => {};
    const slow = noting("slow", notes, {
      request: () =>
        new Promise((resolve) => {
          finish = () => resolve(undefined);
        }),
    });
    const pipeline = new Pipeline([slow, noting("holds", notes)]);
    const call = newCall();
    const verdict = pipeline.run("request", call);
    call.gone = true;
    finish();
    await verdict;
    pipeline.close(call);
    t.strictSame(notes, ["close slow"]);
  });

  t.test("rethrows a plugin's error, and still closes the plugins reached", async (t) => {
    const notes: string[] = [];
    const bug = new Error("a bug");
    const buggy = noting("buggy", notes, {
      request() {
        throw bug;
      },
    });
    const pipeline = new Pipeline([noting("a", notes), buggy, noting("b", notes)]);
    const call = newCall();
    t.throws(() => pipeline.run("request", call), bug);
    pipeline.close(call);
    t.strictSame(notes, ["request a", "close a", "close buggy"]);
  });

  for (const [name, close] of [
    [
      "throws",
      () => {
        throw new Error("first");
      },
    ],
    ["rejects", () => Promise.reject(new Error("first"))],
  ] as const) {
    t.test(
      `closes the other plugins if one ${name}, then rejects with the first failure`,
      async (t) => {
        const notes: string[] = [];
        const pipeline = new Pipeline([
          noting("a", notes),
          noting("b", notes, { close }),
          noting("c", notes, { close: () => Promise.reject(new Error("second")) }),
          noting("d", notes),
        ]);
        const call = newCall();
        pipeline.run("request", call);
        notes.length = 0;
        await t.rejects(async () => pipeline.close(call), /first/);
        t.strictSame(notes, ["close a", "close d"]);
      },
    );
  }

  t.test("waits for each close before the next", async (t) => {
    const notes: string[] = [];
    const slow = noting("slow", notes, {
      async close() {
        await tick();
        notes.push("close slow");
      },
    });
    const pipeline = new Pipeline([slow, noting("b", notes)]);
    const call = newCall();
    pipeline.run("request", call);
    notes.length = 0;
    await pipeline.close(call);
    t.strictSame(notes, ["close slow", "close b"]);
  });
});
