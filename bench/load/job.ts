/** A job for the load generator: a closed loop, or an open loop if it has a rate. */
export interface Job {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  readonly port: number;
  readonly tls?: boolean;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Text near the end of every good reply, such as `[DONE]`. */
  readonly endsWith: string;
  /** One of these is among the first bytes of the last event of every good stream. */
  readonly lastEvents?: readonly string[];
  /** The media type of every good reply, if it matters. */
  readonly mediaType?: "application/json" | "text/event-stream";
  readonly connections: number;
  readonly seconds: number;
  /** Calls per second, independent of earlier replies: an open loop over at most `connections`. */
  readonly rate?: number | Schedule;
  /** A call fails if it takes longer, from when it was due. Default: 60. */
  readonly timeoutSeconds?: number;
  /** Opens one stream per connection and reports once all have begun. The next job closes them. */
  readonly hold?: boolean;
}

/** A kind of call: its request, and the marks of a good reply. */
export type Workload = Pick<Job, "path" | "body" | keyof GoodReply>;

/** The marks of a good reply, besides its status of 200. */
export type GoodReply = Pick<Job, "endsWith" | "lastEvents" | "mediaType">;

/** Rates of calls, one stretch after the other. Each goes from one rate to another in a straight line. */
export type Schedule = readonly {
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
}[];

/** Percentiles of times, in microseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Failed calls of one kind, such as `HTTP 429`. */
export interface Failure {
  readonly kind: string;
  readonly count: number;
  /** The beginning of the first such reply, if one came. */
  readonly body: string;
}

/** The replies of one second. */
export interface Second {
  readonly calls: number;
  readonly errors: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

/** How the generator itself did. */
export interface GeneratorHealth {
  /** By how much calls left later than they were due, although a connection was free. */
  readonly lateUs: Percentiles;
  /** Share of the time in which its thread was busy, from 0 to 1. */
  readonly busy: number;
  /** Share of the time in which its thread could run and had no core. 0 if the system does not say. */
  readonly waitedForCore: number;
}

/** The result of a job. Times are of good calls only, in microseconds. */
export interface Report {
  readonly calls: number;
  /** Calls whose reply was not 200, not whole, not in time, or not HTTP. Not included in `calls`. */
  readonly errors: number;
  /** The calls that failed, most frequent kind first. */
  readonly failures: readonly Failure[];
  /** Message of the first error. */
  readonly firstError: string | undefined;
  /** Calls that were open or due when the job was stopped early. */
  readonly unfinished: number;
  /** Calls that waited because every connection was busy. */
  readonly queued: number;
  readonly events: number;
  readonly bytes: number;
  /** The time from the first request to the last reply. */
  readonly seconds: number;
  /** Whole replies. From when the call was due in an open loop, else from when it was sent. */
  readonly latencyUs: Percentiles;
  /** The first text, thinking or arguments of a tool in a stream. */
  readonly firstTokenUs: Percentiles | undefined;
  /** Between the events of a stream. Events of one packet have no gap. */
  readonly gapUs: Percentiles | undefined;
  /** Whole replies by their time: columns of a histogram, as the lower end and the number. */
  readonly columns: readonly (readonly [fromUs: number, calls: number])[];
  readonly timeline: readonly Second[];
  /** The good replies that state a cost, and its sum in millionths. */
  readonly costs: { readonly calls: number; readonly micro: string };
  /** Failed and unfinished calls that may have been charged: those that were sent and not refused by a status. */
  readonly maybeCharged: number;
  readonly generator: GeneratorHealth;
}

/** Returns the bytes of one request. */
export function requestBytes(
  job: Pick<Job, "host" | "port" | "path" | "headers" | "body">,
): Buffer {
  const body = Buffer.from(job.body);
  const host = job.host ?? "127.0.0.1";
  const lines = [
    `POST ${job.path} HTTP/1.1`,
    `host: ${host.includes(":") ? `[${host}]` : host}:${job.port}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  for (const [name, value] of Object.entries(job.headers)) lines.push(`${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}
