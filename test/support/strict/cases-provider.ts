import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { startLocalServer } from "../local-server.ts";
import { makeAnswer } from "../provider/answer.ts";
import { isProblem } from "../provider/ask.ts";
import { chat } from "../provider/chat.ts";
import { messages } from "../provider/messages.ts";
import type { Protocol } from "../provider/protocol.ts";
import { responses } from "../provider/responses.ts";
import type { TestSimulator } from "../simulator.ts";
import { judge } from "./index.ts";

/** A request as the provider got it, and the provider's words if it refuses it. */
interface CaseAsk {
  readonly path: string;
  readonly text: string;
  readonly body: JsonObject;
  readonly refusal: string | undefined;
}

/** A provider in the test's process: it judges each request strictly, and sends the reply that the test has set. */
export interface CasesProvider {
  readonly asSimulator: TestSimulator;
  readonly asks: CaseAsk[];
  /** Undefined: the model says "ok", for 10 tokens of input and 5 of output. */
  reply:
    | {
        readonly type: string;
        readonly text: string;
        readonly packetBytes?: number | undefined;
        /** The reply goes on until the gateway leaves. */
        readonly endless?: boolean | undefined;
      }
    | undefined;
  /** Resolves once the gateway has left the latest endless reply. */
  left: Promise<unknown>;
  stop(): Promise<void>;
}

const PROTOCOLS: readonly Protocol[] = [messages, chat, responses];
/** An image of one pixel, which every address has. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const SAYS_OK = { text: "ok", input_tokens: 10, output_tokens: 5 };

export async function startCasesProvider(): Promise<CasesProvider> {
  const asks: CaseAsk[] = [];
  const server = await startLocalServer(async (request, response) => {
    if (request.method === "GET") {
      return void response.writeHead(200, { "content-type": "image/png" }).end(PNG);
    }
    const bytes = await buffer(request);
    const path = request.url ?? "";
    const protocol = PROTOCOLS.find((one) => one.path === path);
    const body: unknown = JSON.parse(bytes.toString());
    if (!protocol || !isObject(body)) return void response.writeHead(404).end();
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const ask = protocol.read(body);
    const error = isProblem(ask) ? ask.problem : judge(path, ask, headers)?.error?.body;
    asks.push({ path, text: bytes.toString(), body, refusal: error });
    const { reply } = provider;
    if (reply) {
      response.writeHead(200, reply.type === "" ? {} : { "content-type": reply.type });
      const whole = Buffer.from(reply.text);
      const step = reply.packetBytes ?? whole.length;
      for (let at = 0; at < whole.length; at += step) response.write(whole.subarray(at, at + step));
      if (reply.endless) provider.left = once(response, "close");
      else response.end();
      return;
    }
    if (isProblem(ask)) return void response.writeHead(400).end(ask.problem);
    const answer = makeAnswer(ask, SAYS_OK, { bytes, salt: "", echo: undefined });
    const type = ask.stream ? protocol.streamType(answer) : "application/json";
    response.writeHead(200, { "content-type": type });
    response.end(ask.stream ? [...protocol.events(answer)].join("") : protocol.whole(answer));
  });
  const { port, url } = server;
  const provider: CasesProvider = {
    asks,
    reply: undefined,
    left: Promise.resolve(),
    asSimulator: {
      port,
      url,
      stats: async () => ({}),
      reset: async () => {},
      release: async () => {},
      stop: () => provider.stop(),
    },
    stop: server.stop,
  };
  return provider;
}
