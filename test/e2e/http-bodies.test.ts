import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Customer, createCustomer, wallet } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, callsInFlight, noCallsInFlight } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";

const MB = 1_048_576;
/**
 * Of 2,000 MB that are sent in chunks: the limit and what the kernel holds for both sides come to 25 to 60. Once, on a
 * busy machine, it was 134, and why is not known.
 */
const TAKEN_MAX = 400 * MB;
const PATH = "/v1/messages";

let gateway: TestGateway;
let customer: Customer;

before(async () => {
  gateway = await startGateway();
  customer = await createCustomer(gateway, { creditVnd: 1_000_000 });
});
after(() => gateway.close());

/** Requests that are refused before their body has come. */
const REFUSED_EARLY = [
  ["without a valid key", PATH, "tg-wrong", 401],
  ["at an unknown address", "/v2/messages", "tg-wrong", 404],
  ["by a method that its address does not take", "/v1/models", "tg-wrong", 405],
] as const;

/** A body of exactly so many bytes, its size made up of white space. */
function bodyOfSize(bytes: number): string {
  const body = bodyOf(PATH, { output_tokens: 1 });
  return body + " ".repeat(bytes - body.length);
}

function chunked(path = PATH, key = customer.key, more = ""): string {
  return `POST ${path} HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n${more}\r\n`;
}

function chunk(bytes: string | Uint8Array): Buffer {
  const data = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]);
}

/** Sends chunks until the connection no longer takes them; answers how many bytes it took. */
async function sendForEver(client: RawClient, bytesMax: number): Promise<number> {
  const block = chunk(Buffer.alloc(256 * 1024, 97));
  let sent = 0;
  while (sent < bytesMax && (await client.send(block))) sent += block.length;
  return sent;
}

describe("a request body", () => {
  it("may have 20 MB to the byte", async () => {
    const response = await ask(gateway.url, customer.key, PATH, bodyOfSize(20 * MB));
    assert.equal(response.status, 200, await response.text());
  });

  it("is refused with 413 in the protocol's shape when it has one byte more", async () => {
    const response = await ask(gateway.url, customer.key, PATH, bodyOfSize(20 * MB + 1));
    assert.equal(response.status, 413);
    const { type, error } = (await response.json()) as { type: string; error: { type: string } };
    assert.equal(type, "error");
    assert.equal(error.type, "request_too_large");
  });

  it("is refused on its declared length alone, before a byte of it was sent", async () => {
    const client = await RawClient.open(gateway.port);
    await client.send(rawPost(PATH, customer.key, "", { "content-length": String(20 * MB + 1) }));
    const { status, body } = await client.response();
    assert.equal(status, 413);
    assert.match(body.toString(), /"request_too_large"/);
    client.destroy();
  });

  it("leaves its connection usable when a refused one was of a reasonable length", async () => {
    const client = await RawClient.open(gateway.port);
    const body = Buffer.alloc(20 * MB + 1, 32);
    await client.send(rawPost(PATH, customer.key, body));
    assert.equal((await client.response()).status, 413);
    await client.send(rawPost(PATH, customer.key, bodyOf(PATH, { output_tokens: 1 })));
    assert.equal((await client.response()).status, 200);
    client.destroy();
  });

  for (const [name, path, key, status] of REFUSED_EARLY) {
    it(`that is chunked and short, sent ${name}, leaves its connection usable`, async () => {
      const client = await RawClient.open(gateway.port);
      await client.send(chunked(path, key));
      await client.send(chunk('{"model":'));
      await client.send(chunk("0}"));
      await client.send("0\r\n\r\n");
      assert.equal((await client.response()).status, status);
      await client.send(rawPost(PATH, customer.key, bodyOf(PATH, { output_tokens: 1 })));
      assert.equal((await client.response()).status, 200);
      client.destroy();
    });
  }

  it("may come in chunks of a byte", async () => {
    const client = await RawClient.open(gateway.port);
    const body = bodyOf(PATH, { output_tokens: 1 });
    await client.send(chunked());
    for (const character of body) await client.send(chunk(character));
    await client.send("0\r\n\r\n");
    assert.equal((await client.response()).status, 200);
    client.destroy();
  });

  it("is asked for with 100 Continue where its client waits for that", async () => {
    const client = await RawClient.open(gateway.port);
    const body = bodyOf(PATH, { output_tokens: 1 });
    const headers = { "content-length": String(body.length), expect: "100-continue" };
    await client.send(rawPost(PATH, customer.key, "", headers));
    assert.equal((await client.response()).status, 100);
    await client.send(body);
    assert.equal((await client.response()).status, 200);
    client.destroy();
  });

  const hidden = () => rawPost(PATH, customer.key, bodyOf(PATH, { output_tokens: 1 }));
  for (const [name, headers, body] of [
    ["two lengths", "content-length: 4\r\ncontent-length: 60\r\n", "{  }"],
    ["an encoding that nobody knows", "transfer-encoding: gzip\r\n", ""],
    ["two encodings", "transfer-encoding: gzip, chunked\r\n", "0\r\n\r\n"],
    ["a length and chunks", "content-length: 5\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"],
    ["a negative length", "content-length: -1\r\n", ""],
    ["a length in another notation", "content-length: 0x0\r\n", ""],
    ["a chunk of a negative size", "transfer-encoding: chunked\r\n", "-1\r\n\r\n0\r\n\r\n"],
    ["a chunk whose size overflows", "transfer-encoding: chunked\r\n", `${"f".repeat(17)}\r\n`],
  ] as const) {
    it(`with ${name} is refused, and what follows is not taken for a request`, async () => {
      const client = await RawClient.open(gateway.port);
      const head = `POST ${PATH} HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${customer.key}\r\n`;
      const start = `${head}content-type: application/json\r\n${headers}\r\n${body}`;
      await client.send(start);
      assert.match(await client.head(), /^HTTP\/1\.1 400 /);
      await client.closed;

      const smuggler = await RawClient.open(gateway.port);
      await smuggler.send(Buffer.concat([Buffer.from(start), hidden()]));
      await smuggler.closed;
      const replies = smuggler.pending.toString("latin1").match(/HTTP\/1\.1 \d+/g) ?? [];
      assert.ok(
        replies.length <= 1 && (replies[0] ?? "HTTP/1.1 400") === "HTTP/1.1 400",
        `${replies}`,
      );
    });
  }

  it("that is cut off charges nothing and leaves no call open", async () => {
    const open = await callsInFlight(gateway);
    for (const leave of ["destroy", "reset"] as const) {
      const client = await RawClient.open(gateway.port);
      await client.send(rawPost(PATH, customer.key, '{"model":', { "content-length": "5000" }));
      while ((await callsInFlight(gateway)) === open) {}
      client[leave]();
      await noCallsInFlight(gateway);
    }
  });
});

describe("an endless request body", { concurrency: true }, () => {
  it("is refused in the moment that its chunks pass the limit, and is not read any further", async () => {
    const client = await RawClient.open(gateway.port);
    await client.send(chunked());
    const endless = sendForEver(client, 2_000 * MB);
    const { status, body } = await client.response();
    assert.equal(status, 413);
    assert.match(body.toString(), /"request_too_large"/);
    const sent = await endless;
    assert.ok(sent > 20 * MB, `${sent} bytes`);
    assert.ok(sent < TAKEN_MAX, `${sent} bytes were taken of a body that was refused`);
    assert.equal(client.ended, true);
  });

  it("is not read on where it declared its length", async () => {
    const client = await RawClient.open(gateway.port);
    await client.send(rawPost(PATH, customer.key, "", { "content-length": String(1e12) }));
    assert.equal((await client.response()).status, 413);
    const sent = await sendForEver(client, 2_000 * MB);
    assert.ok(sent < 100 * MB, `${sent} bytes were taken of a body that was refused`);
  });

  for (const [name, path, key, status] of REFUSED_EARLY) {
    it(`sent ${name}, is cut off at the limit`, async () => {
      const client = await RawClient.open(gateway.port);
      await client.send(chunked(path, key));
      const endless = sendForEver(client, 2_000 * MB);
      const response = await client.response();
      assert.ok(response.status === status || response.status === 413, `${response.status}`);
      assert.ok((await endless) < TAKEN_MAX);
    });
  }
});

describe("requests of all these kinds", () => {
  it("leave nothing held and both stores in agreement", async () => {
    await noCallsInFlight(gateway);
    assert.equal((await wallet(gateway, customer.accountId)).held, "0");
    await assertReconciled(gateway);
  });
});
