import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { EventStreamReader } from "../../../../core/upstream/kinds/bedrock.ts";
import { createCustomer } from "../../../support/admin.ts";
import { secretOf, startTestBedrock, tokenOf } from "../../../support/bedrock.ts";
import { billedCall } from "../../../support/billed.ts";
import { TEST_PRICE_VND_PER_MTOK, testModel } from "../../../support/catalogue.ts";
import { startGateway } from "../../../support/gateway.ts";
import { assertReconciled, noCallsInFlight } from "../../../support/proof.ts";
import { eventsOf, paths, post } from "../../../support/requests.ts";
import { until } from "../../../support/until.ts";

const REGION = "eu-central-1";
/** 30 tokens of input, of which a cache had 10, and 10 of output, in đ. */
const COST_VND = String((40 * TEST_PRICE_VND_PER_MTOK) / 1e6);
const ARN = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc";
/** The names at Bedrock of models that another route can serve as well. */
const TROUBLES = ["throttles", "throttles-in-stream", "cuts", "corrupts"];

t.test("Bedrock as AWS speaks", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const bedrock = await startTestBedrock(REGION);
  t.teardown(() => bedrock.stop());
  const upstream = (more: object) => ({
    kind: "bedrock",
    region: REGION,
    endpoint: bedrock.url,
    ...more,
  });
  const model = (id: string, ...routes: readonly (readonly [upstream: string, name: string])[]) =>
    testModel(
      id,
      routes.map(([upstream, name], priority) => ({ upstream, model: name, priority })),
      { labels: ["streaming", "tools"] },
    );
  const models = [
    model("plain", ["signed", "anthropic.claude-x-v1:0"]),
    model("by-arn", ["signed", ARN]),
    model("renewed", ["process", "claude-x"]),
    model("lost", ["nowhere", "claude-x"]),
    model("late", ["signed", "fails-late"]),
    ...TROUBLES.map((name) => model(`${name}-model`, ["signed", name], ["process", "claude-x"])),
  ];
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, JSON.stringify({ models }));
  const script = join(folder, "credentials.mjs");
  writeFileSync(script, CREDENTIALS);
  const files = join(folder, "aws-config");
  writeFileSync(files, `[profile renewed]\ncredential_process = ${process.execPath} ${script}\n`);
  const gateway = await startGateway({
    config: {
      catalogue,
      upstreams: {
        signed: upstream({ inference_profile: "eu" }),
        process: upstream({ credentials_profile: "renewed" }),
        nowhere: upstream({ credentials_profile: "missing" }),
      },
    },
    plugins: { alias: { default_family: "any", families: { any: "plain" } } },
    env: {
      AWS_ACCESS_KEY_ID: "AKIDENVIRONMENT",
      AWS_SECRET_ACCESS_KEY: secretOf("AKIDENVIRONMENT"),
      AWS_SESSION_TOKEN: tokenOf("AKIDENVIRONMENT"),
      AWS_CONFIG_FILE: files,
      AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
      AWS_EC2_METADATA_DISABLED: "true",
    },
  });
  t.teardown(() => gateway.close());

  async function call(model: string, stream: boolean, headers: Record<string, string> = {}) {
    const customer = await createCustomer(gateway, { creditVnd: 100_000 });
    const messages = [{ role: "user", content: "hello" }];
    const body = { model, max_tokens: 100, stream, messages };
    const answer = await post(gateway, paths.messages, customer, body, headers);
    return { answer, customer };
  }

  for (const stream of [false, true]) {
    t.test(`serves and charges exactly, streamed: ${stream}`, async (t) => {
      const { answer, customer } = await call("plain", stream, {
        "anthropic-beta":
          "token-efficient-tools-2026-03-28,interleaved-thinking-2025-05-14,advanced-tool-use-2025-11-20",
      });
      assert.equal(answer.status, 200, answer.text);
      t.equal((await billedCall(gateway, customer))["cost_vnd"], COST_VND);
      const { path, accessKeyId, body } = bedrock.requests.at(-1) ?? {};
      const operation = stream ? "invoke-with-response-stream" : "invoke";
      t.equal(path, `/model/eu.anthropic.claude-x-v1%3A0/${operation}`);
      t.equal(accessKeyId, "AKIDENVIRONMENT");
      t.strictSame(Object.keys(body).sort(), [
        ...["anthropic_beta", "anthropic_version", "max_tokens", "messages"],
      ]);
      t.strictSame(body.anthropic_beta, [
        "interleaved-thinking-2025-05-14",
        "tool-search-tool-2025-10-19",
      ]);
      if (!stream) return t.equal(answer.json.content[0].text, "signed and served");
      t.match(answer.headers.get("content-type"), "text/event-stream");
      const types = eventsOf(answer.text).map(({ type }) => type);
      t.strictSame([types[0], types.at(-1)], ["message_start", "message_stop"]);
      t.notMatch(answer.text, /invocationMetrics/);
      return undefined;
    });
  }

  t.test("signs the name of an inference profile", async (t) => {
    const { answer } = await call("by-arn", false);
    t.equal(answer.status, 200, answer.text);
    t.equal(bedrock.requests.at(-1)?.path, `/model/${encodeURIComponent(ARN)}/invoke`);
  });

  t.test("renews credentials that end", async (t) => {
    const usedKey = async () => {
      t.equal((await call("renewed", false)).answer.status, 200);
      return bedrock.requests.at(-1)?.accessKeyId;
    };
    const first = await usedKey();
    t.match(first, /^AKIDPROCESS/);
    await until("others are used", async () => (await usedKey()) !== first);
  });

  t.test("without credentials gets 502, and says why to the operator alone", async (t) => {
    const { answer } = await call("lost", false);
    t.equal(answer.status, 502, answer.text);
    t.notMatch(answer.text, /profile|redential/);
    await until("the reason is logged", () =>
      gateway.logs.includes('"reason":"no credentials: CredentialsProviderError"'),
    );
  });

  for (const trouble of TROUBLES) {
    t.test(`a stream that ${trouble} is served by the next route`, async (t) => {
      const { answer, customer } = await call(`${trouble}-model`, true);
      t.equal(answer.status, 200, answer.text);
      t.match(answer.text, /message_stop/);
      t.equal(answer.text.match(/event: message_start/g)?.length, 1);
      t.equal((await billedCall(gateway, customer))["cost_vnd"], COST_VND);
    });
  }

  t.test("an exception in a stream is the error that ends it", async (t) => {
    const { answer, customer } = await call("late", true);
    const last = eventsOf(answer.text).at(-1);
    t.match(last, { type: "error", error: { type: "api_error" } });
    t.not((await billedCall(gateway, customer))["cost_vnd"], "0", "what was delivered is charged");
  });

  t.test("no signature was refused, no secret logged, and the books agree", async (t) => {
    t.strictSame(bedrock.refused, []);
    t.notMatch(gateway.logs, /secret-of|token-of/);
    await noCallsInFlight(gateway);
    await assertReconciled(gateway);
  });
});

/** Prints other credentials at each call, which end within the time in which AWS' packages renew them. */
const CREDENTIALS = `
const AccessKeyId = "AKIDPROCESS" + Date.now();
console.log(JSON.stringify({
  Version: 1,
  AccessKeyId,
  SecretAccessKey: "secret-of-" + AccessKeyId,
  SessionToken: "token-of-" + AccessKeyId,
  Expiration: new Date(Date.now() + 60_000).toISOString(),
}));
`;

t.test("frames that are none, or too large, end the stream", async (t) => {
  const read = (bytes: Buffer) => new EventStreamReader().push(bytes, () => {});
  t.equal(read(Buffer.alloc(12, 0xff)), false);
  t.equal(read(Buffer.from("HTTP/1.1 200 OK\r\n\r\n")), false);
  t.equal(read(Buffer.alloc(11, 0xff)), true, "not known yet");
});
