import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { parseArguments, refuseArguments } from "../../core/process/command-line.ts";
import { isObject } from "../../core/process/json.ts";
import { messageOf } from "../../core/process/thrown.ts";
import {
  agentCall,
  goodReplyOf,
  KB,
  KINDS,
  PROTOCOLS,
  type Protocol,
  pathOf,
} from "./agent-calls.ts";
import { BOUND_NAMES, type Bound, boundOf, NOT_VOID, secondsOf } from "./bounds.ts";
import type { Job, Schedule, Workload } from "./job.ts";
import { type Run, showCount } from "./run.ts";

const USAGE = `npm run bench -- load --url URL [--key KEY] (--rate RATE | --connections N)

Sends calls to any gateway or provider. Times count from when a call was due, and are of good replies only.

server
  --url URL               https://HOST, https://HOST/v1, or an address that ends with the path of a protocol
  --key KEY               default: the variable LOAD_KEY
  --header 'NAME: VALUE'  another header; may be repeated
what
  --protocol NAME         ${PROTOCOLS.join(", ")}; default: as the URL ends, else chat
  --model MODEL           needed without --body
  --stream                asks for streams
  --kind KIND             an agent's conversation: ${KINDS.join(", ")}; default: prose
  --size 16KB             of its body, 1KB to 2MB; default: 1KB
  --max-tokens N          of the reply; default: 100
  --body FILE             sends this JSON instead; --model and --stream change it
how
  --rate 500              calls a second, whatever the server does. 100,200,400 are steps, 10-1000 is a ramp;
                          each of a list takes an equal part of the time
  --connections N         alone: N connections that never pause. With --rate: at most N; default: 1000
  --for 60s               default: 10s
  --timeout 30s           of a call, from when it was due; default: 60s
results
  --json FILE             writes the figures
  --html FILE             writes a report with pictures, one file
  --name NAME             names the run in reports
  --compare FILE          shows the figures of an earlier --json beside these
bounds; exit status 1 if one is not kept
  --max-p50 50ms          whole replies; also --max-p90, --max-p99, --max-p999, --max-longest
  --max-first-p99 1s      first token of a stream
  --max-gap-p99 200ms     between the events of a stream
  --max-errors 1%         failed calls; default: 0.1%, above which a run is void
  --min-rate 450          good replies a second
  --max-drift 0           đ between what the balance fell and what the replies cost`;

const SHORT_USAGE = "npm run bench -- load --help shows every option.";
const SIZE_MAX_KB = 2_048;
const SECONDS_MAX = 86_400;
const CONNECTIONS_MAX = 20_000;
const CONNECTIONS = "1000";
const MESSAGES_VERSION = "2023-06-01";
const TEXT = { type: "string" } as const;

/** The settings of a run. */
export interface LoadOptions {
  /** Without a query, which may hold a key. */
  readonly url: string;
  /** The address of this key's balance, if the gateway has one. */
  readonly balanceUrl: string;
  readonly job: Job;
  /** The kind of call and of load, in words. */
  readonly call: string;
  readonly load: string;
  readonly name: string;
  readonly bounds: readonly Bound[];
  readonly json: string | undefined;
  readonly html: string | undefined;
  /** The earlier run of a comparison. */
  readonly earlier: Run | undefined;
}

/** Reads the arguments after `load`. Ends the process if one is wrong. */
export function loadOptionsOf(args: string[]): LoadOptions {
  const { values } = parseArguments(args.includes("--help") ? USAGE : SHORT_USAGE, {
    args,
    options: {
      ...{ url: TEXT, key: TEXT, protocol: TEXT, model: TEXT, body: TEXT, rate: TEXT },
      ...{ connections: TEXT, name: TEXT, json: TEXT, html: TEXT, compare: TEXT },
      header: { type: "string", multiple: true, default: [] },
      stream: { type: "boolean", default: false },
      kind: { type: "string", default: "prose" },
      size: { type: "string", default: "1KB" },
      "max-tokens": { type: "string", default: "100" },
      for: { type: "string", default: "10s" },
      timeout: { type: "string", default: "60s" },
      ...boundOptions,
      help: { type: "boolean", default: false },
    },
  });
  const given = addressOf(values.url);
  const protocol =
    values.protocol === undefined
      ? (PROTOCOLS.find((each) => given.pathname.endsWith(endOfPath(each))) ?? "chat")
      : oneOf("protocol", PROTOCOLS, values.protocol);
  const url = withPath(given, protocol);
  const workload = workloadOf(protocol, values);
  const seconds = timeOf("for", values.for, SECONDS_MAX);
  const schedule = values.rate === undefined ? undefined : scheduleOf(values.rate, seconds);
  if (schedule === undefined && values.connections === undefined) {
    refuse("--rate or --connections is missing: --rate 50 sends 50 calls a second");
  }
  const connections = wholeOf("connections", values.connections ?? CONNECTIONS, 1, CONNECTIONS_MAX);
  const bounds = BOUND_NAMES.flatMap((name): Bound[] => {
    const text = values[name];
    if (text === undefined) return [];
    const bound = boundOf(name, text, workload.isStream);
    return typeof bound === "string" ? refuse(bound) : [bound];
  });
  const key = values.key ?? process.env["LOAD_KEY"];
  const shown = `${url.origin}${url.pathname}`;
  return {
    url: shown,
    balanceUrl: `${url.origin}${url.pathname.slice(0, -endOfPath(protocol).length)}/balance`,
    job: {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
      tls: url.protocol === "https:",
      headers: headersOf(protocol, key, values.header),
      ...workload,
      path: `${url.pathname}${url.search}`,
      connections,
      seconds,
      timeoutSeconds: timeOf("timeout", values.timeout, SECONDS_MAX),
      ...(schedule && { rate: schedule }),
    },
    call: `${workload.isStream ? "streamed" : "unstreamed"} ${protocol} calls of ${showSize(workload.body)}${values.body === undefined ? ` (${values.kind})` : ""}`,
    load:
      schedule === undefined
        ? `${connections} connections that never pause, for ${seconds} s`
        : `${values.rate} calls a second for ${seconds} s`,
    name: values.name ?? shown,
    bounds: bounds.some(({ name }) => name === NOT_VOID.name) ? bounds : [...bounds, NOT_VOID],
    json: writable("json", values.json),
    html: writable("html", values.html),
    earlier: values.compare === undefined ? undefined : readRun(values.compare),
  };
}

const boundOptions = Object.fromEntries(BOUND_NAMES.map((name) => [name, TEXT])) as Record<
  (typeof BOUND_NAMES)[number],
  typeof TEXT
>;

function refuse(problem: string): never {
  return refuseArguments(SHORT_USAGE, problem);
}

function addressOf(text: string | undefined): URL {
  if (text === undefined) return refuse("--url is missing: the address of a gateway or provider");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    return refuse(`--url must begin with http:// or https://, not ${text}`);
  }
  if (url.username !== "" || url.password !== "")
    return refuse("put the key into --key, not --url");
  return url;
}

/** Returns the path of a protocol without `/v1`, which not every provider has. */
function endOfPath(protocol: Protocol): string {
  return pathOf(protocol).replace("/v1", "");
}

function withPath(url: URL, protocol: Protocol): URL {
  const path = url.pathname.replace(/\/+$/, "");
  const end = endOfPath(protocol);
  const full = new URL(url);
  if (path.endsWith(end)) full.pathname = path;
  else if (/\/v\d+\w*$/.test(path)) full.pathname = `${path}${end}`;
  else full.pathname = `${path}${pathOf(protocol)}`;
  return full;
}

interface CallValues {
  readonly body?: string | undefined;
  readonly model?: string | undefined;
  readonly stream: boolean;
  readonly kind: string;
  readonly size: string;
  readonly "max-tokens": string;
}

function workloadOf(protocol: Protocol, values: CallValues): Workload & { isStream: boolean } {
  if (values.body !== undefined) return workloadOfFile(protocol, values.body, values);
  const { model, stream } = values;
  if (model === undefined) return refuse("--model is missing: the name of a model of this server");
  const call = agentCall({
    protocol,
    model,
    kind: oneOf("kind", KINDS, values.kind),
    bytes: bytesOf(values.size),
    stream,
    maxTokens: wholeOf("max-tokens", values["max-tokens"], 1, 1_000_000),
    prompt: "Go on, in a few sentences.",
  });
  return { ...call, isStream: stream };
}

function workloadOfFile(
  protocol: Protocol,
  file: string,
  { model, stream }: CallValues,
): Workload & { isStream: boolean } {
  let text: string;
  let body: unknown;
  try {
    text = readFileSync(file, "utf8");
    body = JSON.parse(text);
  } catch (error) {
    return refuse(`--body ${file}: ${messageOf(error)}`);
  }
  if (!isObject(body)) return refuse(`--body ${file}: this is no JSON object`);
  const isStream = stream || body["stream"] === true;
  const isChanged = model !== undefined || isStream !== (body["stream"] === true);
  const changed = { ...body, ...(model !== undefined && { model }), stream: isStream };
  const sent = isChanged ? JSON.stringify(changed) : text;
  return { path: pathOf(protocol), body: sent, isStream, ...goodReplyOf(protocol, isStream) };
}

function headersOf(
  protocol: Protocol,
  key: string | undefined,
  lines: readonly string[],
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (protocol === "messages") headers["anthropic-version"] = MESSAGES_VERSION;
  if (key !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(key)) refuse("the key must be of printable ASCII, without spaces");
    if (protocol === "messages") headers["x-api-key"] = key;
    else headers["authorization"] = `Bearer ${key}`;
  }
  for (const line of lines) {
    const [, name, value] = /^([\w-]+): *([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      return refuse(`--header must be such as 'x-team: blue', not ${line}`);
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Returns the schedule of a text such as `500`, `100,200` or `10-1000,1000`. */
function scheduleOf(text: string, seconds: number): Schedule {
  const parts = text.split(",");
  return parts.map((part) => {
    const [, from, to = from] = /^(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?$/.exec(part) ?? [];
    const stretch = { from: Number(from), to: Number(to), seconds: seconds / parts.length };
    if (stretch.from + stretch.to > 0) return stretch;
    return refuse(`--rate must be such as 500, 100,200 or 10-1000, not ${text}`);
  });
}

function bytesOf(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?(KB|MB)$/i.exec(text) ?? [];
  const kb = Number(number) * (unit?.toUpperCase() === "MB" ? KB : 1);
  if (kb >= 1 && kb <= SIZE_MAX_KB) return kb * KB;
  return refuse(`--size must be from 1KB to 2MB, not ${text}`);
}

function timeOf(name: string, text: string, secondsMax: number): number {
  const seconds = secondsOf(text);
  if (seconds !== undefined && seconds > 0 && seconds <= secondsMax) return seconds;
  return refuse(`--${name} must be a time such as 500ms, 30s or 2m, up to 24h, not ${text}`);
}

function wholeOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  return refuse(`--${name} must be a whole number from ${min} to ${max}, not ${text}`);
}

function oneOf<T extends string>(name: string, all: readonly T[], text: string): T {
  const found = all.find((each) => each === text);
  return found ?? refuse(`--${name} must be ${all.join(", ")}, not ${text}`);
}

/** Refuses a file of results that cannot be written, before the load and not after it. */
function writable(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) accessSync(file, constants.W_OK);
    if (!statSync(file, { throwIfNoEntry: false })?.isDirectory()) return file;
  } catch (error) {
    return refuse(`--${name} ${file}: ${messageOf(error)}`);
  }
  return refuse(`--${name} ${file}: this is a folder`);
}

function readRun(file: string): Run {
  let run: unknown;
  try {
    run = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return refuse(`--compare ${file}: ${messageOf(error)}`);
  }
  if (isObject(run) && isObject(run["report"]) && Array.isArray(run["report"]["columns"])) {
    return run as unknown as Run;
  }
  return refuse(`--compare ${file}: this is not the --json of a load`);
}

function showSize(body: string): string {
  const bytes = Buffer.byteLength(body);
  if (bytes < KB) return `${bytes} bytes`;
  const kb = bytes / KB;
  return kb < KB ? `${showCount(kb)} KB` : `${(kb / KB).toFixed(1)} MB`;
}
