import { Agent, type IncomingMessage, request } from "node:http";
import { countTokens } from "../../plugins/simulator/text.ts";
import { deliveredText, eventsOf } from "../support/requests.ts";
import type { CallPlan } from "./plan.ts";

/** The client's timeout, so that a frozen gateway does not block it forever. */
export const PATIENCE_MS = 20_000;
const SLOW_PAUSE_MS = 40;

/** How a call ended for its client. */
export type CallEnd =
  /** The whole reply arrived. */
  | "whole"
  /** A status other than 200. */
  | "refused"
  /** The connection broke, or the stream ended with an error. */
  | "cut"
  /** The client disconnected. */
  | "left";

/** A call as its client knows it. */
export interface ClientCall {
  readonly plan: CallPlan;
  readonly accountId: string;
  readonly gateway: number;
  readonly startedMs: number;
  endedMs: number;
  end: CallEnd;
  /** 0 if no response head arrived. */
  status: number;
  /** Undefined if no response head arrived. */
  id: string | undefined;
  /** Tokens of text received. */
  seenTokens: number;
  /** The usage that the reply reports. */
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  costVnd: string | undefined;
  error: string | undefined;
  /** True if the client stopped reading for a while, so it may have been sent more than it saw. */
  stalled: boolean;
}

/** The client of a running call. */
export interface OpenClient {
  readonly call: ClientCall;
  /** Disconnects. */
  leave(): void;
  /** Reads nothing for this long. */
  stall(ms: number): void;
}

export interface CallTarget {
  readonly gateway: number;
  readonly port: number;
  readonly accountId: string;
  readonly key: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 500 });

/** Makes one planned call. Never rejects. Its client is in `open` until the call has ended. */
export function call(
  plan: CallPlan,
  target: CallTarget,
  open: Set<OpenClient>,
): Promise<ClientCall> {
  const { gateway, port, accountId, key } = target;
  const record: ClientCall = {
    plan,
    accountId,
    gateway,
    startedMs: Date.now(),
    endedMs: 0,
    end: "cut",
    status: 0,
    id: undefined,
    seenTokens: 0,
    inputTokens: undefined,
    outputTokens: undefined,
    costVnd: undefined,
    error: undefined,
    stalled: false,
  };
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const sent = request({
      host: "127.0.0.1",
      port,
      path: plan.path,
      method: "POST",
      agent,
      headers,
    });
    let text = "";
    let isOver = false;
    const over = (end: CallEnd) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(patience);
      open.delete(client);
      record.endedMs = Date.now();
      record.end = end;
      read(record, text);
      resolve(record);
    };
    const leave = () => {
      over("left");
      sent.destroy();
    };
    const patience = setTimeout(leave, PATIENCE_MS);
    let reading: IncomingMessage | undefined;
    const client: OpenClient = {
      call: record,
      leave,
      stall(ms) {
        if (!reading) return;
        record.stalled = true;
        hesitate(reading, ms);
      },
    };
    open.add(client);
    sent.on("error", (error: NodeJS.ErrnoException) => {
      record.error = error.code ?? error.message;
      over("cut");
    });
    sent.on("response", (reply) => {
      reading = reply;
      record.status = reply.statusCode ?? 0;
      record.id = String(reply.headers["x-request-id"]);
      record.costVnd = reply.headers["x-svc-cost-vnd"]?.toString();
      reply.setEncoding("utf8");
      reply.on("data", (more: string) => {
        text += more;
        const { reader, streamed } = plan;
        if (reader === "slow") hesitate(reply, SLOW_PAUSE_MS);
        else if (reader !== "prompt") {
          const seen = streamed ? deliveredText(text).length : text.length;
          if (seen > reader.leavesAfter) leave();
        }
      });
      reply.on("error", () => over("cut"));
      reply.on("close", () => {
        if (record.status !== 200) over("refused");
        else over(isWhole(plan, text, reply.complete) ? "whole" : "cut");
      });
    });
    sent.end(plan.body);
    if (plan.reader !== "prompt" && plan.reader !== "slow" && plan.reader.leavesAfter === 0)
      leave();
  });
}

function hesitate(reply: IncomingMessage, ms: number): void {
  reply.pause();
  setTimeout(() => reply.resume(), ms);
}

function isWhole({ path, streamed }: CallPlan, text: string, complete: boolean): boolean {
  if (!streamed) return complete && text.endsWith("}");
  if (path === "/v1/messages") return /\nevent: message_stop\ndata: [^\n]*\n\n$/.test(text);
  return text.endsWith("data: [DONE]\n\n");
}

/** Reads the delivered text and the reported usage from a reply, complete or not. */
function read(record: ClientCall, text: string): void {
  if (record.status !== 200) {
    if (record.status !== 0) record.error ??= text.slice(0, 300);
    return;
  }
  const { streamed } = record.plan;
  const events = streamed ? eventsOf(text) : record.end === "whole" ? [JSON.parse(text)] : [];
  if (streamed) record.seenTokens = countTokens(deliveredText(text));
  else {
    const [reply] = events;
    const said = reply?.content?.[0]?.text ?? reply?.choices?.[0]?.message?.content ?? "";
    record.seenTokens = countTokens(said);
  }
  for (const event of events) {
    const usage = event?.usage ?? event?.message?.usage;
    record.inputTokens = usage?.input_tokens ?? usage?.prompt_tokens ?? record.inputTokens;
    record.outputTokens = usage?.output_tokens ?? usage?.completion_tokens ?? record.outputTokens;
    if (event?.error) record.error ??= JSON.stringify(event.error).slice(0, 300);
  }
}
