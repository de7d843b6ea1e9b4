/** A job for the load generator: a closed loop, or an open loop if `rate` is set. */
export interface Job {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Text near the end of every good reply, such as `[DONE]`. */
  readonly endsWith: string;
  readonly connections: number;
  readonly seconds: number;
  /** Calls per second, independent of earlier replies: an open loop over at most `connections`. */
  readonly rate?: number;
  /** Opens one stream per connection and reports once all have begun. The next job closes them. */
  readonly hold?: boolean;
}

/** The result of a job. Latencies in microseconds. */
export interface Report {
  readonly calls: number;
  /** Calls whose reply was not 200, not whole, or not HTTP. Not included in `calls`. */
  readonly errors: number;
  /** Message of the first error. */
  readonly firstError: string | undefined;
  readonly events: number;
  readonly bytes: number;
  /** The time from the first request to the last reply. */
  readonly seconds: number;
  readonly latencyUs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
  };
}

/** Returns the bytes of one request. */
export function requestBytes(job: Pick<Job, "port" | "path" | "headers" | "body">): Buffer {
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
