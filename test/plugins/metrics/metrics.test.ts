import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

t.test("GET /metrics", async (t) => {
  const gateway = await startGateway();
  const customer = await createCustomer(gateway, { creditVnd: 100 });
  t.teardown(() => gateway.close());

  async function call(key: string, directive: object, more: object = {}): Promise<number> {
    const content = `hi [[sim ${JSON.stringify(directive)}]]`;
    const messages = [{ role: "user", content }];
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ model: "claude-opus-5-5", max_tokens: 50, messages, ...more }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** The samples of a scrape by name and labels. */
  async function scrape(): Promise<Map<string, number>> {
    const response = await fetch(`${gateway.url}/metrics`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    const samples = new Map<string, number>();
    for (const line of (await response.text()).split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      const sample = /^([a-z0-9_]+(?:\{[^}]*\})?) (\S+)$/i.exec(line);
      assert.ok(sample, `no sample: ${line}`);
      assert.ok(!samples.has(sample[1]!), `twice: ${line}`);
      samples.set(sample[1]!, Number(sample[2]));
    }
    return samples;
  }

  t.test(
    "counts every call, including those that a plugin refuses, from the first plugin on",
    async (t) => {
      const usage = { input_tokens: 7, output_tokens: 3 };
      t.equal(await call(customer.key, usage), 200);
      t.equal(await call(customer.key, usage, { stream: true }), 200);
      t.equal(await call(customer.key, { ...usage, usage: "missing" }), 200);
      t.equal(await call(customer.key, { status: 422 }), 422);
      t.equal(await call("tg-wrong", {}), 401);
      t.equal(await call(customer.key, {}, { max_tokens: -1 }), 400);
      const poor = await createCustomer(gateway);
      t.equal(await call(poor.key, {}), 402);

      const samples = await scrape();
      const opus = 'endpoint="/v1/messages",model="claude-opus-5-5"';
      const calls = (model: string, status: number, outcome: string) =>
        samples.get(
          `tollgate_calls_total{endpoint="/v1/messages",model="${model}",status="${status}",outcome="${outcome}"}`,
        );
      t.equal(calls("claude-opus-5-5", 200, "complete"), 3);
      t.equal(calls("claude-opus-5-5", 422, "refused"), 1);
      t.equal(calls("claude-opus-5-5", 402, "refused"), 1);
      t.equal(calls("none", 401, "refused"), 1);
      t.equal(calls("none", 400, "refused"), 1);
      for (const [type, model] of [
        ["authentication_error", "none"],
        ["insufficient_balance", "claude-opus-5-5"],
        ["invalid_request_error", "none"],
        ["upstream", "claude-opus-5-5"],
      ] as const) {
        const labels = `endpoint="/v1/messages",model="${model}",type="${type}"`;
        t.equal(samples.get(`tollgate_refusals_total{${labels}}`), 1, type);
      }
      t.ok((samples.get(`tollgate_input_tokens_total{${opus}}`) ?? 0) >= 14);
      t.ok((samples.get(`tollgate_output_tokens_total{${opus}}`) ?? 0) >= 6);
      t.ok((samples.get(`tollgate_charged_vnd_total{${opus}}`) ?? 0) >= 0.72);
      t.equal(samples.get(`tollgate_estimated_usages_total{${opus}}`), 1);
      // Two calls reported 7 tokens, far below their bound; one reported nothing.
      t.equal(samples.get(`tollgate_bounded_calls_total{${opus}}`), 2);
      t.equal(samples.get(`tollgate_over_bound_calls_total{${opus}}`), 0);
      t.equal(samples.get(`tollgate_bounded_input_tokens_total{${opus}}`), 14);
      t.ok((samples.get(`tollgate_bound_tokens_total{${opus}}`) ?? 0) > 14);
      for (const [streamed, count] of [
        ["false", 2],
        ["true", 1],
      ]) {
        const labels = `{endpoint="/v1/messages",streamed="${streamed}"}`;
        t.equal(samples.get(`tollgate_call_duration_seconds_count${labels}`), count);
        t.equal(samples.get(`tollgate_first_byte_seconds_count${labels}`), count);
        const ofUpstream = `{upstream="anthropic",streamed="${streamed}"}`;
        t.equal(samples.get(`tollgate_upstream_first_byte_seconds_count${ofUpstream}`), count);
      }
      const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
      const build = `{version="${version}",node="${process.versions.node}"}`;
      t.equal(samples.get(`tollgate_build_info${build}`), 1);
      t.equal(samples.get("tollgate_open_calls"), 0);
      t.ok(samples.has("tollgate_outbox_backlog"));
      t.ok(samples.has("tollgate_oldest_unsynced_seconds"));
      for (const name of [
        "oldest_unsent_seconds",
        "waiting_bodies",
        "paced_calls",
        "paced_seconds_total",
      ]) {
        t.equal(samples.get(`tollgate_${name}`), 0, name);
      }
      t.equal(
        samples.get('tollgate_upstream_breaker{upstream="anthropic",model="all",state="closed"}'),
        1,
      );
      t.ok((samples.get("process_resident_memory_bytes") ?? 0) > 0);
    },
  );

  t.test("has no gauge that is named like a counter", async (t) => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    t.strictSame(text.match(/^# TYPE \S+_total (?!counter).*/gm), null);
  });

  t.test("has no label whose value a caller can choose", async (t) => {
    const before = [...(await scrape()).keys()];
    for (let n = 0; n < 20; n++) {
      await fetch(`${gateway.url}/v1/nothing/${n}`);
      await fetch(`${gateway.url}/v1/models/made-up-${n}`, {
        headers: { "x-api-key": customer.key },
      });
      await call(customer.key, {}, { model: `made-up-${n}` });
    }
    const added = [...(await scrape()).keys()].filter((name) => !before.includes(name));
    t.ok(!added.some((name) => name.includes("made-up")), added.join("\n"));
    const series = added.filter((name) => name.startsWith("tollgate_calls_total"));
    t.ok(series.length <= 2, series.join("\n"));
  });

  t.test("counts failed attempts by upstream and cause", async (t) => {
    t.equal(await call(customer.key, { status: 500 }), 502);
    const failures =
      /^tollgate_upstream_attempts_total\{upstream="anthropic",model=".+",key="\w*",cause="http_500"\}$/;
    // The call is counted when its hold is voided, which may be after its reply.
    const counted = async () =>
      [...(await scrape())].find(([name]) => failures.test(name))?.[1] ?? 0;
    await until("the failed attempt is counted", async () => (await counted()) > 0);
    t.equal(await counted(), 1);
  });

  t.test("shows operators what became of calls and attempts, by route and command", async (t) => {
    const read = async (query: string) => {
      const { body } = await admin(gateway, "GET", `/traffic?${query}`);
      return body["rows"] as { [name: string]: unknown }[];
    };
    await until("a failure is counted", async () =>
      (await read("by=cause&upstream=anthropic")).some(({ cause }) => cause === "http_500"),
    );
    t.match(await read("by=cause"), [{ cause: /^40\d [a-z_]+$/ }]);
    const [hour] = await read("");
    t.ok(Number(hour?.["served"]) >= 3 && Number(hour?.["refused"]) >= 3, JSON.stringify(hour));
    const [upstream] = await read("by=upstream");
    t.match(upstream, { upstream: "anthropic", uptime_percent: Number, first_byte_p99_ms: Number });
    const { stdout } = await runCli(["traffic", "--by", "minute", "--upstream", "*"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });
    t.match(stdout, /anthropic/);
    const noDay = await admin(gateway, "GET", "/traffic?from=2026-02-30T09:00");
    t.equal(noDay.status, 400);
    const wrong = await admin(gateway, "GET", "/traffic?from=2026-11-30");
    t.match([wrong.status, wrong.body], [400, { error: { param: "from" } }]);
  });

  t.test("reports open calls", async (t) => {
    const hanging = new AbortController();
    const pending = fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      signal: hanging.signal,
      headers: { "x-api-key": customer.key, "content-type": "application/json" },
      body: JSON.stringify({
        model: "claude-opus-5-5",
        max_tokens: 50,
        stream: true,
        messages: [{ role: "user", content: '[[sim {"hang":true}]]' }],
      }),
    });
    const open = (count: number) =>
      until(`${count} are open`, async () => {
        return (await scrape()).get("tollgate_open_calls") === count;
      });
    await open(1);
    hanging.abort();
    await t.rejects(pending);
    await open(0);
  });
});
