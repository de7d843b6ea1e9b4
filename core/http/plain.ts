import type { Share } from "../body/budget.ts";
import { bodyTooLarge, declaredLength, discardRest, readBody } from "../body/receive.ts";
import type { HttpRequest, HttpResponse } from "../listener/index.ts";
import type { PlainHandler, PlainRequest, PlainResponse } from "../plugin/router.ts";
import { addressBlock, type TrustedProxies } from "../process/client-address.ts";
import type { Log } from "../process/log.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import { sendRefusal, wireOf } from "./errors.ts";
import { inItsTurn } from "./turn-share.ts";
import { CORKED_BYTES_MAX, endHead, endWhole, statusLine, writeSlice } from "./write.ts";

/** The head of a request, copied: uWebSockets.js lends it only for a moment. */
export type RequestHead = Omit<PlainRequest, "body" | "keyId">;

export function requestHead(
  res: HttpResponse,
  req: HttpRequest,
  path: string,
  params: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  requestId: string,
  proxies: TrustedProxies,
): RequestHead {
  const connection = Buffer.from(res.getRemoteAddressAsText()).toString();
  const remoteAddress = proxies.clientOf(connection, headers["x-forwarded-for"]);
  return {
    method: req.getCaseSensitiveMethod(),
    path,
    params,
    query: new URLSearchParams(req.getQuery()),
    headers,
    remoteAddress,
    addressBlock: addressBlock(remoteAddress),
    requestId,
  };
}

/** Serves one request to a plugin's own route: body, handler, reply. */
export function servePlain(
  res: HttpResponse,
  head: RequestHead,
  bytesMax: number,
  share: Share,
  handler: PlainHandler,
  log: Log,
): void {
  let gone = false;
  let answered = false;
  res.onAborted(() => {
    gone = true;
  });
  const sendRefused = (refusal: Refusal, close = false) => {
    if (gone || answered) return;
    answered = true;
    sendRefusal(res, head.method, wireOf(head.path, head.headers), refusal, head.requestId, close);
  };
  const length = declaredLength(head.headers);
  if (length !== undefined && length > bytesMax) {
    return sendRefused(bodyTooLarge(bytesMax), discardRest(res, length, share));
  }
  const answer = async (body: Buffer) => {
    if (gone) return;
    try {
      const response = await handler({ ...head, body });
      if (isRefusal(response)) return sendRefused(completeRefusal(response));
      if (gone || answered) return;
      answered = true;
      await sendPlain(res, response, head, () => gone);
    } catch (error) {
      log.error(
        { err: error, path: head.path, request_id: head.requestId },
        "a route failed; the client gets 500",
      );
      // Cut the connection, so that the client cannot mistake the reply for a whole one.
      if (answered && !gone) res.close();
      sendRefused(refuse.failed("The gateway failed to serve this request."));
    }
  };
  const onWhole = (body: Buffer) => inItsTurn(() => void answer(body));
  readBody(res, { bytesMax, onWhole, onRefused: sendRefused });
}

async function sendPlain(
  res: HttpResponse,
  response: PlainResponse,
  head: RequestHead,
  isGone: () => boolean,
): Promise<void> {
  const { body } = response;
  const whole = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  res.cork(() => {
    res.writeStatus(statusLine(response.status));
    res.writeHeader("x-request-id", head.requestId);
    const headers = response.headers ?? [];
    for (let at = 0; at < headers.length; at += 2) {
      res.writeHeader(headers[at] ?? "", headers[at + 1] ?? "");
    }
    if (!whole) return;
    const bytes = typeof body === "string" ? Buffer.from(body) : (body ?? new Uint8Array(0));
    if (head.method === "HEAD") endHead(res, bytes.length);
    else endWhole(res, bytes);
  });
  if (whole) return;
  let release: (() => void) | undefined;
  res.onWritable(() => {
    release?.();
    return true;
  });
  for await (const chunk of body) {
    if (isGone()) return;
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let at = 0; at < bytes.length; at += CORKED_BYTES_MAX) {
      if (isGone()) return;
      if (writeSlice(res, bytes, at)) continue;
      // Resolves when the socket has room. The timer notices if the client has left.
      await new Promise<void>((resolve) => {
        const timer = setInterval(() => isGone() && done(), 1000);
        const done = () => {
          clearInterval(timer);
          resolve();
        };
        release = done;
      });
    }
  }
  if (!isGone()) res.cork(() => res.end());
}
