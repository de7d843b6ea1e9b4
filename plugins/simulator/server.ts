import { hash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import {
  formParts,
  isObject,
  type JsonObject,
  messageOf,
  openListener,
  parseJson,
} from "../../core/plugin/index.ts";
import { answerTo } from "./answer.ts";
import { type Ask, Refused } from "./ask.ts";
import { chat } from "./chat.ts";
import { type Directive, findDirective } from "./directive.ts";
import type { Endpoint, ErrorDetail } from "./endpoint.ts";
import { imageEdits, imageGenerations, speech } from "./media.ts";
import { messages, readMessages } from "./messages.ts";
import { type HttpRequest, type HttpResponse, Outlet } from "./outlet.ts";
import { responses } from "./responses.ts";

const ENDPOINTS: readonly Endpoint[] = [
  messages,
  chat,
  responses,
  imageGenerations,
  imageEdits,
  speech,
];
/** The same as the gateway's own limit. */
const HEADER_BYTES_MAX = 65_536;
/** Above the gateway's limit of 20 MB, so that the gateway's limit applies first. */
const BODY_BYTES_MAX = 64 << 20;

/** The address of a simulator. */
export interface SimulatorOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** A running simulator. */
export interface Simulator {
  readonly port: number;
  /** Stops listening and destroys open connections. */
  close(): void;
}

/**
 * Starts a simulated provider in this thread: it replies to model calls in text, and as `directive.ts`
 * says. Rejects with a message for the user if it cannot listen on the address.
 */
export async function startSimulator({ host, port }: SimulatorOptions): Promise<Simulator> {
  const listener = await openListener({ headerBytesMax: HEADER_BYTES_MAX });
  for (const endpoint of ENDPOINTS) {
    listener.post(endpoint.path, (res, req) => {
      const head = headOf(req);
      receive(res, (outlet, body) => respond(endpoint, outlet, head, body));
    });
  }
  listener.post("/v1/messages/count_tokens", (res) =>
    receive(res, (outlet, bytes) => {
      const input_tokens = countTokens(bytes);
      outlet.send(
        "200 OK",
        ["content-type", "application/json"],
        [JSON.stringify({ input_tokens })],
      );
    }),
  );
  listener.get("/healthz", (res) => {
    res.end("ok\n");
  });
  listener.any("/*", (res, req) => {
    const message = `Unknown request URL: ${req.getCaseSensitiveMethod()} ${req.getUrl()}.`;
    const error = { message, type: "invalid_request_error", param: null, code: "unknown_url" };
    res.writeStatus("404 Not Found").writeHeader("content-type", "application/json");
    res.end(JSON.stringify({ error }));
  });
  try {
    return { port: await listener.listen(host, port), close: () => listener.close() };
  } catch (error) {
    throw new Error(`The simulator ${messageOf(error)}.`);
  }
}

/** The head of a request. Copied, because the listener frees it before the body arrives. */
interface Head {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

function headOf(req: HttpRequest): Head {
  const headers: Record<string, string> = {};
  req.forEach((name, value) => {
    headers[name] = value;
  });
  const query = req.getQuery();
  const path = query ? `${req.getUrl()}?${query}` : req.getUrl();
  return { method: req.getCaseSensitiveMethod(), path, headers };
}

/** Calls `then` with the whole body. A body above 64 MB closes the connection. */
function receive(res: HttpResponse, then: (outlet: Outlet, body: Buffer) => void): void {
  const outlet = new Outlet(res);
  const chunks: Buffer[] = [];
  let length = 0;
  res.onData((lent, isLast) => {
    if (outlet.isOver) return;
    chunks.push(Buffer.from(Buffer.from(lent)));
    length += lent.byteLength;
    if (length > BODY_BYTES_MAX) outlet.cut();
    else if (isLast) then(outlet, Buffer.concat(chunks));
  });
}

function respond(endpoint: Endpoint, outlet: Outlet, head: Head, bytes: Buffer): void {
  const id = hash("sha256", bytes, "hex").slice(0, 24);
  const fail = (status: number, directive: Directive, refused?: Refused) => {
    const detail = errorDetail(endpoint, status, directive, refused);
    const headers = ["content-type", "application/json", endpoint.idHeader, `req_${id}`];
    if (directive.retry_after !== undefined)
      headers.push("retry-after", `${directive.retry_after}`);
    const line = `${status} ${STATUS_CODES[status] ?? "Other"}`;
    outlet.send(line, headers, [JSON.stringify(endpoint.error(detail, id))]);
  };
  let ask: Ask;
  let directive: Directive;
  let body: JsonObject;
  try {
    body = parseBody(bytes, head.headers["content-type"] ?? "");
    ask = endpoint.read(body);
    directive = foundIn(ask.prompt);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return fail(400, {}, error);
  }
  const { status, hang, delay_ms = 0, event_delay_ms } = directive;
  if (hang === true) return;
  outlet.after(delay_ms, () => {
    if (status !== undefined) return fail(status, directive);
    const echo = directive.echo === true ? JSON.stringify({ ...head, body }) : "";
    const { type, parts } = endpoint.reply(answerTo(ask, directive, id, echo));
    const headers = ["content-type", type, endpoint.idHeader, `req_${id}`];
    const isCut = directive.cut_after_events !== undefined;
    const faulty = ask.stream ? withFault(parts, endpoint, directive) : parts;
    outlet.send("200 OK", headers, faulty, { pauseMs: event_delay_ms, isCut: isCut && ask.stream });
  });
}

function foundIn(prompt: string): Directive {
  const directive = findDirective(prompt);
  if (typeof directive === "string") throw new Refused(directive);
  return directive;
}

/** Ends a stream after as many events as the directive says. */
function* withFault(
  parts: Iterable<string | Uint8Array>,
  endpoint: Endpoint,
  directive: Directive,
): Generator<string | Uint8Array> {
  const { error_after_events, cut_after_events, end_after_events } = directive;
  const after = error_after_events ?? cut_after_events ?? end_after_events;
  let sent = 0;
  for (const part of parts) {
    if (sent === after) break;
    yield part;
    sent++;
  }
  if (error_after_events !== undefined) {
    yield endpoint.errorEvent(errorDetail(endpoint, 500, directive), sent);
  }
}

function errorDetail(
  { errorTypes }: Endpoint,
  status: number,
  { error }: Directive,
  refused?: Refused,
): ErrorDetail {
  const type = errorTypes[status] ?? errorTypes[status < 500 ? 400 : 500] ?? "api_error";
  return {
    type: error?.type ?? type,
    message: error?.message ?? refused?.message ?? `Simulated error ${status}.`,
    code: error?.code ?? null,
    param: refused?.param ?? null,
  };
}

function parseBody(bytes: Buffer, contentType: string): JsonObject {
  const body = contentType.startsWith("multipart/form-data")
    ? formOf(bytes, contentType)
    : parseJson(bytes.toString());
  if (!isObject(body)) throw new Refused("We could not parse the body of your request.");
  return body;
}

/** The fields of a form; a file is its name, and a repeated name a list. */
function formOf(bytes: Buffer, contentType: string): JsonObject | undefined {
  const form: Record<string, unknown> = {};
  const parts = formParts(bytes, contentType);
  for (const { name, data, filename } of parts ?? []) {
    const key = name.replace(/\[\]$/, "");
    const value = filename ?? Buffer.from(data).toString();
    const before = form[key];
    form[key] = before === undefined ? value : [before, value].flat();
  }
  return parts && form;
}

/** An invalid body has 0 tokens. */
function countTokens(bytes: Buffer): number {
  try {
    return readMessages(parseBody(bytes, "application/json")).inputTokens;
  } catch {
    return 0;
  }
}
