/** What the load generator is asked for. Closed loop unless a rate is given. */
export interface Job {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Text near the end of every good reply, such as `[DONE]`. */
  readonly endsWith: string;
  readonly connections: number;
  readonly seconds: number;
  /** Calls a second, whatever becomes of those before: an open loop over at most `connections`. */
  readonly rate?: number;
  /** Opens one stream a connection, and tells when each has begun; they are given up at the next job. */
  readonly hold?: boolean;
}

/** What came of it. Latencies in microseconds. */
export interface Report {
  readonly calls: number;
  /** Calls whose reply was not a 200, not whole, or not HTTP; not among `calls`. */
  readonly errors: number;
  /** What the first of them was. */
  readonly firstError: string | undefined;
  readonly events: number;
  readonly bytes: number;
  /** From the first request to the last reply. */
  readonly seconds: number;
  readonly latencyUs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
  };
}

/** The bytes of one request. */
export function requestBytes(job: Job): Buffer {
  const body = Buffer.from(job.body);
  const lines = [
    `POST ${job.path} HTTP/1.1`,
    `host: 127.0.0.1:${job.port}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  for (const [name, value] of Object.entries(job.headers)) lines.push(`${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}
