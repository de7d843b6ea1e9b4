import { readFileSync } from "node:fs";
import t from "tap";
import { isObject, type JsonObject, objectOf } from "../../../core/process/json.ts";
import { INVENTORY } from "../../inventory/inventory.ts";
import { customerWith } from "../../support/billed.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { get, post, send } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

let gateway: TestGateway;
let described: JsonObject;
let operations: { path: string; method: string; operation: JsonObject }[];
t.before(async () => {
  gateway = await sharedGateway();
  const { status, json, headers } = await get(gateway, "/openapi.json", undefined);
  t.strictSame([status, headers.get("content-type")], [200, "application/json"]);
  described = json;
  operations = Object.entries(json.paths as Record<string, JsonObject>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...{ path, method: method.toUpperCase(), operation: objectOf(operation) ?? {} },
    })),
  );
});

t.test("the description has every route that a key opens, and no other", async (t) => {
  const routes = readFileSync(INVENTORY, "utf8").matchAll(/^route (\S+) (\w+) (?:key|call)$/gm);
  const known = Array.from(
    routes,
    ([, path = "", method]) =>
      `${method} ${path.replace(/:(\w+)/g, "{$1}").replace(/\*$/, "{id}")}`,
  );
  t.strictSame(operations.map(({ path, method }) => `${method} ${path}`).sort(), known.sort());
  for (const { path, method, operation } of operations) {
    t.not(operation["summary"], path, `${path} has a summary`);
    const address = path.replace(/\{\w+\}/g, "x");
    const { status } = await send(gateway, address, { method });
    t.equal(status, 401, `${method} ${path} needs a key`);
  }
});

t.test("every pattern is one that any tool for OpenAPI reads", async (t) => {
  const patterns = Array.from(
    JSON.stringify(described).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
    ([, text = ""]) => String(JSON.parse(text)),
  );
  t.ok(patterns.length > 0);
  t.strictSame(
    patterns.filter((one) => /\\p/i.test(one)),
    [],
  );
});

t.test("the list of errors needs no key, and is text", async (t) => {
  const response = await fetch(`${gateway.url}/errors.md`);
  t.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
  t.match(await response.text(), /^# Errors\n/);
});

t.test("a call without a field that is described as required is refused for it", async (t) => {
  const customer = await customerWith(gateway);
  const examples: Record<string, unknown> = { array: ["a"], string: "a", integer: 1 };
  let tried = 0;
  for (const { path, method, operation } of operations) {
    if (method !== "POST" || path.endsWith("/edits")) continue;
    const { content } = objectOf(operation["requestBody"]) ?? {};
    const schema = objectOf(objectOf(objectOf(content)?.["application/json"])?.["schema"]);
    const required = (schema?.["required"] ?? []) as string[];
    const properties = objectOf(schema?.["properties"]) ?? {};
    const body = Object.fromEntries(
      required.map((name) => [name, examples[String(objectOf(properties[name])?.["type"])]]),
    );
    for (const name of required) {
      // A rule of its own checks the input of two protocols.
      const input = /responses|embeddings/.test(path) && { input: "a" };
      const changed = { ...body, ...input, [name]: undefined };
      const without = await post(gateway, path, customer, changed);
      t.equal(without.status, 400, `${path} without ${name}`);
      t.match(without.json.error.message, new RegExp(`^${name}: `));
      tried++;
    }
  }
  t.ok(tried > 8, `${tried} fields`);
});

t.test("a query is described by the schema that checks it", async (t) => {
  const usage = operations.find(({ path }) => path === "/v1/usage")?.operation;
  const parameters = (usage?.["parameters"] ?? []) as JsonObject[];
  t.strictSame(
    parameters.map(({ name }) => name),
    ["from", "to", "scope", "limit", "after"],
  );
  for (const { name, schema, description } of parameters) {
    t.type(description, "string", `${name}`);
    const { enum: options, pattern } = objectOf(schema) ?? {};
    t.ok(Array.isArray(options) || typeof pattern === "string", `${name}`);
  }
});

t.test("bodies and replies have the media types that clients send and get", async (t) => {
  const of = (path: string) => operations.find((one) => one.path === path)?.operation ?? {};
  const replyTypes = (path: string) => {
    const reply = objectOf(objectOf(of(path)["responses"])?.["200"]);
    return Object.keys(objectOf(reply?.["content"]) ?? {});
  };
  const both = ["application/json", "text/event-stream"];
  t.strictSame(replyTypes("/v1/audio/speech"), ["audio/*", "text/event-stream"]);
  const chats = ["/v1/messages", "/v1/chat/completions", "/v1/responses"];
  for (const path of [...chats, "/v1/images/generations", "/v1/images/edits"]) {
    t.strictSame(replyTypes(path), both, path);
  }
  for (const path of ["/v1/embeddings", "/v1/models"]) {
    t.strictSame(replyTypes(path), ["application/json"], path);
  }

  const file = { type: "string", format: "binary" };
  const images = (of: JsonObject) => ({ anyOf: [of, { type: "array", items: of }] });
  const address = { type: "string" };
  const inObject = { type: "object", properties: { image_url: address, url: address } };
  const given = { anyOf: [address, inObject] };
  const size = { pattern: /\[0-9\]/ };
  t.match(of("/v1/images/edits")["requestBody"], {
    content: {
      "application/json": {
        schema: { properties: { size, image: images(given), images: images(given), mask: given } },
      },
      "multipart/form-data": {
        schema: { properties: { size, image: images(file), mask: file, prompt: {} } },
      },
    },
  });
  t.match(of("/v1/images/generations")["requestBody"], {
    content: { "application/json": { schema: { properties: { size } } } },
  });
});

t.test("every reference in it leads somewhere", async (t) => {
  const references: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (isObject(value)) {
      if (typeof value["$ref"] === "string") references.push(value["$ref"]);
      Object.values(value).forEach(visit);
    }
  };
  visit(described);
  t.ok(references.length > 10);
  for (const reference of new Set(references)) {
    const [, ...names] = reference.split("/");
    t.ok(
      names.reduce<unknown>((at, name) => objectOf(at)?.[name], described),
      reference,
    );
  }
});
