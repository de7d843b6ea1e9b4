/**
 * An HTTP/1.1 server, as the gateway and the simulated provider use one. There are two: uWebSockets.js
 * (`open.ts`), whose interface this is in part, and `node:http` (`node.ts`) for machines that cannot load it.
 */
export interface Listener {
  readonly engine: EngineName;
  /** For people: the engine, and the package of the native one with its version. */
  readonly build: string;
  get(path: string, handler: Handler): void;
  post(path: string, handler: Handler): void;
  /** `path` is `/*`: the handler gets every request that no other handler gets. */
  any(path: string, handler: Handler): void;
  /** Resolves with the port. Rejects if the port is in use. */
  listen(host: string, port: number): Promise<number>;
  /** Number of connections that are open. */
  readonly connections: number;
  /**
   * Takes no more connections. Those that are open stay; a reply to a request that arrives on one later says that the
   * connection closes. Not before: its client would open another to the port that is about to close, and the system
   * resets connections that it has taken and the process has not.
   */
  stopListening(): Promise<void>;
  /** Stops listening and cuts all connections. */
  close(): void;
}

export type EngineName = "native" | "node";

export type Handler = (response: HttpResponse, request: HttpRequest) => void;

/** The head of a request. Read it before the handler returns. */
export interface HttpRequest {
  /** Returns the path without the query. */
  getUrl(): string;
  /** Returns the query; undefined if the address has no question mark. */
  getQuery(): string | undefined;
  getCaseSensitiveMethod(): string;
  /** Yields lower-case names, each as often as it was sent. */
  forEach(each: (name: string, value: string) => void): void;
}

/**
 * The response to a request, and its body. After the handler returns, `onAborted` must be set. After `end`, or the call
 * of `onAborted`, do not use it.
 */
export interface HttpResponse {
  /** Runs when the client leaves before the end, or at `close`. */
  onAborted(handler: () => void): HttpResponse;
  /** Lends each piece of the body for the time of the call. The last one may be empty. */
  onData(handler: (lent: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  /** Stops reading the body. A connection that stays paused is cut after 10 s, or 30 by newer builds. */
  pause(): void;
  /** Reads on after `pause`. */
  resume(): void;
  getRemoteAddressAsText(): ArrayBuffer;
  /** `200 OK`. Call it before any header. */
  writeStatus(line: string): HttpResponse;
  /** `value` may have further headers after `\r\n`. */
  writeHeader(name: string, value: string): HttpResponse;
  /** Sends a chunk. Returns false if the client must catch up; `onWritable` runs once it has. */
  write(chunk: string | Uint8Array): boolean;
  /** Sends what fits of a body of `bytes` bytes. Returns if it fitted, and if the body is complete. */
  tryEnd(chunk: Uint8Array, bytes: number): [boolean, boolean];
  /** Returns true if all was written. `offset`: how many bytes `tryEnd` has sent so far. */
  onWritable(handler: (offset: number) => boolean): HttpResponse;
  end(body?: string | Uint8Array, closesConnection?: boolean): HttpResponse;
  /** Ends the reply to HEAD. */
  endWithoutBody(): HttpResponse;
  /** Sends what `write` writes as one packet. */
  cork(write: () => void): HttpResponse;
  /** Cuts the connection. */
  close(): HttpResponse;
}

/** The address cannot be listened on: another process uses the port, or this machine does not have the address. */
export class PortInUse extends Error {
  constructor(host: string, port: number) {
    const cause = "another process uses the port, or this machine does not have the address";
    super(`cannot listen on ${host}:${port}: ${cause}`);
    this.name = "PortInUse";
  }
}
