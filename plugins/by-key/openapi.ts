import { toJsonSchema } from "@valibot/to-json-schema";
import {
  type JsonObject,
  objectOf,
  type Protocol,
  program,
  type Router,
  type Services,
  type v,
} from "../../core/plugin/index.ts";
import type { Question } from "./question.ts";

type Wires = Services["wires"];
type Route = ReturnType<Router["all"]>[number];
type Rule = Wires[Protocol]["fields"][string];

const RULES: Readonly<Record<Rule, JsonObject>> = {
  text: { type: "string", minLength: 1 },
  list: { type: "array", minItems: 1 },
  whole: { type: "integer", minimum: 0 },
  flag: { type: ["boolean", "null"] },
  count: { type: ["integer", "null"], minimum: 1 },
  size: { type: ["string", "null"], pattern: "^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|auto)$" },
};
const REQUIRED: ReadonlySet<Rule> = new Set(["text", "list", "whole"]);

/** Routes for keys that other rooms add. */
const KEYED: Readonly<Record<string, string>> = {
  "/v1/models": "All models with their prices and limits",
  "/v1/models/*": "One model",
  "/v1/messages/count_tokens": "The input tokens of a Messages call, without making it",
  "/v1/vouchers": "Redeem a voucher into the wallet of this key's account",
  "/v1/calls/:call": "A call, and why it cost what it did; 202 until it is recorded",
};

/**
 * Returns the description of the API in OpenAPI 3.1: every route that a key opens. Queries and replies of questions, and the
 * fields of calls, come from the schemas and rules that check them.
 */
export function openApi(
  routes: readonly Route[],
  questions: readonly Question[],
  services: Pick<Services, "wires" | "config">,
): JsonObject {
  const byPath = new Map(questions.map((question) => [question.path, question]));
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const operation = operationOf(route, byPath.get(route.path), services);
    if (!operation) continue;
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Tollgate", version: program.version },
    security: [{ bearer: [] }, { header: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        header: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      schemas: { Error: ERROR, MessagesError: MESSAGES_ERROR },
    },
  };
}

function operationOf(
  route: Route,
  question: Question | undefined,
  { wires, config }: Pick<Services, "wires" | "config">,
) {
  if (route.access === "call") return callOf(route.endpoint, wires, config.headers.prefix);
  if (route.access !== "key") return undefined;
  const isPost = route.method === "POST";
  return {
    summary: question?.summary ?? KEYED[route.path] ?? route.path,
    parameters: [...pathParameters(route.path), ...queryParameters(question)],
    ...(isPost && { requestBody: bodyOf({ type: "object" }) }),
    responses: responsesOf({
      "application/json": { schema: question ? schemaOf(question.reply) : { type: "object" } },
    }),
  };
}

function callOf(
  { protocol, multipart, conversation }: Extract<Route, { access: "call" }>["endpoint"],
  wires: Wires,
  prefix: string,
) {
  const { fields, reference } = wires[protocol];
  const named = Object.keys(fields).filter((name) => REQUIRED.has(fields[name] ?? "flag"));
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, rule]) => [name, RULES[rule]]),
  );
  const body = {
    type: "object",
    properties: { model: { type: "string", minLength: 1, maxLength: 256 }, ...properties },
    required: ["model", ...named],
    additionalProperties: true,
  };
  return {
    summary: `A call in the protocol of ${reference}`,
    description: `Lists the fields that the gateway checks one by one; the reference of ${reference} has the others.`,
    parameters: conversation === undefined ? [] : [includeCost(prefix)],
    requestBody: multipart ? editBody(body) : bodyOf(body),
    responses: responsesOf(
      repliesOf(protocol),
      protocol === "messages" ? "MessagesError" : "Error",
    ),
  };
}

function includeCost(prefix: string): JsonObject {
  const description = "Adds the exact cost of the call to the usage of its reply, as `cost_vnd`.";
  return { name: `${prefix}include-cost`, in: "header", schema: { const: "1" }, description };
}

function bodyOf(schema: JsonObject): JsonObject {
  return { required: true, content: { "application/json": { schema } } };
}

/** The body of an image edit: its images and its mask are texts or objects in JSON, and files in a form. */
function editBody(body: JsonObject): JsonObject {
  const withImages = (file: JsonObject) => {
    const image = { anyOf: [file, { type: "array", items: file }] };
    const given = { image, images: image, mask: file };
    return { ...body, properties: { ...objectOf(body["properties"]), ...given } };
  };
  const content = {
    "application/json": { schema: withImages(IMAGE) },
    "multipart/form-data": { schema: withImages(BINARY) },
  };
  return { required: true, content };
}

/** The media types of a reply. Audio comes as bytes, or as events. */
function repliesOf(protocol: Protocol): JsonObject {
  const events = { "text/event-stream": { schema: TEXT } };
  if (protocol === "speech") return { "audio/*": { schema: BINARY }, ...events };
  return { ...JSON_REPLY, ...(protocol !== "embeddings" && events) };
}

function responsesOf(content: JsonObject, error: "Error" | "MessagesError" = "Error"): JsonObject {
  const reference = { $ref: `#/components/schemas/${error}` };
  return {
    "200": { description: "The reply", content },
    default: {
      description: "An error: `GET /errors.md` lists them",
      content: { "application/json": { schema: reference } },
    },
  };
}

function pathParameters(path: string): JsonObject[] {
  return Array.from(templateOf(path).matchAll(/\{(\w+)\}/g), ([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
}

function queryParameters(question: Question | undefined): JsonObject[] {
  if (!question?.query) return [];
  const { properties = {} } = schemaOf(question.query);
  return Object.entries(properties as Record<string, JsonObject>).map(
    ([name, { description, ...schema }]) => ({
      ...{ name, in: "query", required: false, schema },
      ...(description !== undefined && { description }),
    }),
  );
}

/** `/v1/models/*` becomes `/v1/models/{id}`. */
function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}").replace(/\*$/, "{id}");
}

/** As a client sends or reads it: checks that JSON schema cannot express are left out. */
function schemaOf(schema: v.GenericSchema): JsonObject {
  const { $schema: _, ...json } = toJsonSchema(schema, {
    target: "draft-2020-12",
    typeMode: "input",
    errorMode: "ignore",
  });
  return { ...json };
}

const TEXT = { type: "string" };
/** An image in JSON: OpenAI has `image_url` in an object, xAI has `url`. */
const IMAGE = {
  anyOf: [TEXT, { type: "object", properties: { image_url: TEXT, url: TEXT } }],
};
const BINARY = { type: "string", format: "binary" };
const JSON_REPLY = { "application/json": { schema: {} } };
const TEXT_OR_NULL = { type: ["string", "null"] };

/** The error of all protocols but Messages. */
const ERROR: JsonObject = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: { message: TEXT, type: TEXT, param: TEXT_OR_NULL, code: TEXT_OR_NULL },
      required: ["message", "type", "param", "code"],
    },
  },
  required: ["error"],
};

const MESSAGES_ERROR: JsonObject = {
  type: "object",
  properties: {
    type: { const: "error" },
    error: {
      type: "object",
      properties: { type: TEXT, message: TEXT },
      required: ["type", "message"],
    },
    request_id: TEXT,
  },
  required: ["type", "error"],
};
