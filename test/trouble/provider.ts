import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { makeCertificate } from "../support/certificate.ts";
import { CASES, type Fault } from "./faults.ts";
import { GOOD_REPLIES, type TroubleProtocol } from "./good-replies.ts";

/** The key with which every call is served well. */
export const GOOD_KEY = "a-key-without-trouble";

/** Of the keys of one upstream, that of the first attempt is in trouble, whichever it is. */
const firstKeys = new Map<string, string>();

/** A provider that makes the trouble that the path of a call names, unless the call has another key. */
export interface TroubleProvider {
  /** Returns the base address at which a case happens. */
  addressOf(at: number, protocol: TroubleProtocol): string;
  stop(): Promise<void>;
}

export async function startTroubleProvider(folder: string): Promise<TroubleProvider> {
  const server = createServer((request, response) => serve(request, response));
  const { key, cert } = await makeCertificate(folder, "DNS:elsewhere.test");
  const tls = createTlsServer({ key, cert }, (request, response) => serve(request, response));
  for (const each of [server, tls]) {
    each.listen(0, "127.0.0.1");
    await once(each, "listening");
  }
  const { port } = server.address() as AddressInfo;
  const { port: tlsPort } = tls.address() as AddressInfo;
  return {
    addressOf(at, protocol) {
      return `${originOf(CASES[at]?.fault, port, tlsPort)}/${at}${protocol === "messages" ? "" : "/v1"}`;
    },
    async stop() {
      for (const each of [server, tls]) {
        each.close();
        each.closeAllConnections();
      }
    },
  };
}

function originOf(fault: Fault | undefined, port: number, tlsPort: number): string {
  switch (fault) {
    case "no listener":
      return "http://127.0.0.1:1";
    case "no such host":
      return "http://no-such-host.invalid";
    case "wrong certificate":
      return `https://127.0.0.1:${tlsPort}`;
    default:
      return `http://127.0.0.1:${port}`;
  }
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    const [, at, ...path] = (request.url ?? "").split("/");
    const body = Buffer.concat(chunks).toString();
    const isStreamed = JSON.parse(body).stream === true;
    const key = String(request.headers["x-api-key"] ?? request.headers.authorization);
    const [call = ""] = /t\d+-\w+-\d-\w+/.exec(body) ?? [];
    if (!firstKeys.has(call)) firstKeys.set(call, key);
    const isGood = key.endsWith(GOOD_KEY) || firstKeys.get(call) !== key;
    const fault = isGood ? undefined : CASES[Number(at)]?.fault;
    behave(response, fault, protocolOf(path.join("/")), isStreamed);
  });
}

function protocolOf(path: string): TroubleProtocol {
  if (path.endsWith("messages")) return "messages";
  return path.endsWith("responses") ? "responses" : "chat";
}

function behave(
  response: ServerResponse,
  fault: Fault | undefined,
  protocol: TroubleProtocol,
  isStreamed: boolean,
): void {
  const good = GOOD_REPLIES[protocol];
  const type = isStreamed ? "text/event-stream" : "application/json";
  const whole = JSON.stringify(good.whole);
  const head = (more: object = {}) =>
    response.writeHead(200, { "content-type": type, ...more }).flushHeaders();
  if (fault === undefined) {
    head();
    response.end(isStreamed ? [...good.preamble, ...good.rest].join("") : whole);
  } else if (typeof fault === "string") connectionFault(response, fault);
  else if ("status" in fault) {
    const { status, body, headers } = fault;
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, {
      "content-type": fault.type ?? (status === 200 && isStreamed ? type : "application/json"),
      ...headers,
    });
    response.end(status === 200 && isStreamed && sent.startsWith("{") ? `data: ${sent}\n\n` : sent);
  } else {
    head(fault.after === "half" && "ends" in fault ? { "content-length": whole.length } : {});
    const begun = partOf(fault.after, good.preamble, whole);
    if ("error" in fault) response.end(begun + good.error(fault.error));
    else response.write(begun === "" ? "\n" : begun, () => endBy(response, fault.ends));
  }
}

function partOf(after: string, preamble: readonly string[], whole: string): string {
  if (after === "preamble") return preamble.join("");
  return after === "half" ? whole.slice(0, whole.length / 2) : "";
}

function endBy(response: ServerResponse, ends: "end" | "reset" | "silence"): void {
  if (ends === "end") {
    // Without this, Node cuts a reply that is shorter than it says.
    if (response.hasHeader("content-length")) response.socket?.end();
    else response.end();
  } else if (ends === "reset") response.socket?.resetAndDestroy();
}

function connectionFault(response: ServerResponse, fault: string): void {
  if (fault === "reset") response.socket?.resetAndDestroy();
  else if (fault === "garbage") response.socket?.end("this is no HTTP\r\n\r\n");
  else if (fault === "bad gzip") {
    const type = { "content-type": "application/json", "content-encoding": "gzip" };
    response.writeHead(200, type).end("this is no gzip");
  }
  // "no reply" stays silent.
}
