import { createHash, createHmac } from "node:crypto";
import { crc32 } from "node:zlib";
import * as v from "valibot";
import type { Route } from "../../catalogue/catalogue.ts";
import { PROTOCOLS, type Protocol } from "../../catalogue/endpoint.ts";
import type { Profile } from "../../catalogue/profile.ts";
import type {
  Decoder,
  OutgoingCall,
  OutgoingRequest,
  ReplyDecoder,
  SettingsOf,
  UpstreamAdapter,
  UpstreamKind,
} from "../../plugin/upstream-kind.ts";
import { type JsonObject, objectOf, parseJson } from "../../process/json.ts";
import { described, matching, text, url } from "../../process/options.ts";
import { ServerEvent } from "../../sse/reader.ts";
import { encodeEvent } from "../../sse/writer.ts";

/** The version of Messages that InvokeModel wants in the body. */
const VERSION = "bedrock-2023-05-31";
const SERVICE = "bedrock";

const settings = {
  region: described(
    matching(/^[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}$/, "a region of AWS, such as us-east-1"),
    "Region whose models are called.",
  ),
  inference_profile: v.optional(
    described(
      matching(/^[a-z]{2,10}$/, "the first word of an inference profile, such as us or global"),
      "Put before model names that name no profile: us calls us.anthropic.claude-…",
    ),
  ),
  credentials_profile: v.optional(
    described(
      text("the name of a profile"),
      "Profile in the shared files of AWS. Default: AWS_PROFILE, and what the default chain of credentials finds.",
    ),
  ),
  endpoint: v.optional(
    described(
      url(["http", "https"], "an http:// or https:// address"),
      "Address of a VPC endpoint. Default: that of the region.",
    ),
  ),
};

type Settings = SettingsOf<typeof settings>;

/** The refusals of Claude on Bedrock. Its models before 4.7 take structured output, so their routes state that. */
const profile: Profile = {
  images: "bytes", // Claude docs: vision, on Bedrock
  betas: {
    "advanced-tool-use": "tool-search-tool-2025-10-19", // anthropics/claude-code#30926, vercel/ai#13900
    "output-128k": null, // litellm: anthropic_beta_headers_config.json
    "per-turn-control": null, // the same
    "prompt-caching-scope": null, // router-for-me/CLIProxyAPI#4750
    "redact-thinking": null, // the same
    "token-efficient-tools": null, // the same
  },
  // UKGovernmentBEIS/inspect_ai#3851; vercel/ai#19988; BerriAI/litellm#33193
  refused_fields: ["cache_control", "output_config.format", "output_format", "tools.strict"],
};

const MESSAGES: ReadonlySet<Protocol> = new Set(["messages"]);

/**
 * Claude on Amazon Bedrock by InvokeModel, with requests that are signed by AWS credentials: those of a role, an instance or
 * a container, which `http-json` with a Bedrock API key cannot use.
 */
export const bedrock: UpstreamKind<typeof settings> = {
  name: "bedrock",
  settings,
  profile,
  protocols: () => MESSAGES,
  create: (given) => new Bedrock(given),
};

class Bedrock implements UpstreamAdapter {
  private readonly endpoint: URL;
  private signer: Promise<Signer> | undefined = undefined;

  constructor(private readonly settings: Settings) {
    const { region, endpoint } = settings;
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    this.endpoint = new URL(endpoint ?? `https://bedrock-runtime.${region}.${domain}`);
  }

  request(call: OutgoingCall, route: Route): OutgoingRequest | undefined {
    const { protocol, body, stream } = call;
    if (protocol !== "messages") return undefined;
    const headers = ["content-type", "application/json"];
    const betas: string[] = [];
    for (let at = 0; at < call.headers.length; at += 2) {
      const name = call.headers[at] ?? "";
      const value = call.headers[at + 1] ?? "";
      if (name === PROTOCOLS.messages.betaHeader) betas.push(...value.split(/\s*,\s*/));
      else headers.push(name, value);
    }
    for (const name of ["model", "stream"]) body.set(name, undefined);
    body.set("anthropic_version", VERSION);
    if (betas.length > 0) body.set("anthropic_beta", betas);
    const { origin, pathname } = this.endpoint;
    const operation = stream ? "invoke-with-response-stream" : "invoke";
    const model = encodeURIComponent(this.nameOf(route.model));
    const path = `${pathname.replace(/\/+$/, "")}/model/${model}/${operation}`;
    return { protocol, origin, path, headers, body: body.bytes() };
  }

  /** `arn:…` and `us.anthropic.…` name a profile; `anthropic.…` names a model. */
  private nameOf(model: string): string {
    const { inference_profile: profile } = this.settings;
    return profile === undefined || !/^anthropic\./.test(model) ? model : `${profile}.${model}`;
  }

  async authorise({ path, body }: OutgoingRequest, nowMs: number): Promise<string[]> {
    this.signer ??= signerOf(this.settings);
    const { protocol, hostname, host } = this.endpoint;
    const headers = { host, "content-type": "application/json" };
    const request = { method: "POST", protocol, hostname, path, query: {}, headers, body };
    const signer = await this.signer.catch((error) => {
      this.signer = undefined;
      throw error;
    });
    const signed = await signer.sign(request, { signingDate: new Date(nowMs) });
    const given = Object.keys(headers);
    return Object.entries(signed.headers).flatMap(([name, value]) =>
      given.includes(name) ? [] : [name, value],
    );
  }

  decoder(status: number, contentType: string | undefined): Decoder | undefined {
    const isFramed = status === 200 && contentType?.startsWith(EVENT_STREAM_TYPE);
    return isFramed ? new EventStreamReader() : undefined;
  }

  hidden(): string[] {
    return [this.endpoint.origin, this.endpoint.host];
  }

  describe(): JsonObject {
    const { region, inference_profile } = this.settings;
    return { region, inference_profile: inference_profile ?? null, address: this.endpoint.href };
  }
}

type Signer = InstanceType<typeof import("@smithy/signature-v4").SignatureV4>;

/**
 * Loads the packages of AWS, which are optional: 15 MB, for operators with this kind alone. The chain of credentials reads
 * the same places as AWS' own programs, and renews what it finds.
 */
async function signerOf({ region, credentials_profile: profile }: Settings): Promise<Signer> {
  const [{ SignatureV4 }, { defaultProvider }] = await Promise.all([
    import("@smithy/signature-v4"),
    import("@aws-sdk/credential-provider-node"),
  ]);
  const credentials = defaultProvider(profile === undefined ? {} : { profile });
  return new SignatureV4({ service: SERVICE, region, sha256: Sha256, credentials });
}

/** SHA-256, or its HMAC with a key, as the signer calls it. */
class Sha256 {
  private readonly hash: { update(data: string | Uint8Array): unknown; digest(): Buffer };

  constructor(key?: string | NodeJS.ArrayBufferView) {
    this.hash = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  }

  update(data: string | Uint8Array): void {
    this.hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.hash.digest();
  }
}

const EVENT_STREAM_TYPE = "application/vnd.amazon.eventstream";

/** Two lengths and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** The largest that AWS sends. */
const FRAME_BYTES_MAX = 25_165_824;

/** Bytes of header values by their type; the others state their length. A true and a false have none. */
const VALUE_BYTES: Readonly<Record<number, number>> = {
  0: 0,
  1: 0,
  2: 1,
  3: 2,
  4: 4,
  5: 8,
  8: 8,
  9: 16,
};
const BYTES = 6;
const TEXT = 7;

/** Errors of Messages by what AWS names them in a stream. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingException: "rate_limit_error",
  serviceQuotaExceededException: "rate_limit_error",
  serviceUnavailableException: "overloaded_error",
  modelNotReadyException: "overloaded_error",
  validationException: "invalid_request_error",
  accessDeniedException: "permission_error",
};

/** The name of counts that AWS adds to the last event, for the operator. */
const METRICS = "amazon-bedrock-invocationMetrics";

/**
 * Reads the frames of InvokeModelWithResponseStream into events of Messages: lengths, headers and payload, each with a
 * checksum. AWS docs: "Event stream encoding". An exception becomes the protocol's event of an error.
 */
export class EventStreamReader implements ReplyDecoder {
  private parts: Buffer[] = [];
  private bytes = 0;
  /** Bytes after which a frame may be whole. */
  private wanted = PRELUDE_BYTES;

  push(chunk: Buffer, onEvent: (event: ServerEvent) => void): boolean {
    this.parts.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes < this.wanted) return true;
    let rest = this.parts.length === 1 ? chunk : Buffer.concat(this.parts);
    for (;;) {
      const length = lengthOf(rest);
      if (length === undefined) return false;
      this.wanted = length === 0 ? PRELUDE_BYTES : length;
      if (rest.length < this.wanted) break;
      const event = eventIn(rest.subarray(0, length));
      if (event === "broken") return false;
      rest = rest.subarray(length);
      if (event) onEvent(event);
    }
    this.parts = rest.length > 0 ? [rest] : [];
    this.bytes = rest.length;
    return true;
  }

  /** A frame that is cut is dropped: the stream then lacks its end. */
  end(): void {
    this.parts = [];
    this.bytes = 0;
  }
}

/** Returns the length of the next frame; 0 if it is not known yet, undefined if the bytes are no frame. */
function lengthOf(bytes: Buffer): number | undefined {
  if (bytes.length < PRELUDE_BYTES) return 0;
  const length = bytes.readUInt32BE(0);
  const headers = bytes.readUInt32BE(4);
  const isSound =
    bytes.readUInt32BE(8) === crc32(bytes.subarray(0, 8)) &&
    length <= FRAME_BYTES_MAX &&
    length >= PRELUDE_BYTES + headers + CHECKSUM_BYTES;
  return isSound ? length : undefined;
}

/** Returns the event of a whole frame; undefined for one of a kind that clients do not know. */
function eventIn(frame: Buffer): ServerEvent | undefined | "broken" {
  const end = frame.length - CHECKSUM_BYTES;
  if (frame.readUInt32BE(end) !== crc32(frame.subarray(0, end))) return "broken";
  const from = PRELUDE_BYTES + frame.readUInt32BE(4);
  const headers = headersIn(frame.subarray(PRELUDE_BYTES, from));
  if (!headers) return "broken";
  const payload = objectOf(parseJson(frame.toString("utf8", from, end))) ?? {};
  const message = headers.get(":message-type");
  if (message === "exception") return errorOf(headers.get(":exception-type"), payload["message"]);
  if (message === "error")
    return errorOf(headers.get(":error-code"), headers.get(":error-message"));
  const { bytes } = payload;
  if (headers.get(":event-type") !== "chunk" || typeof bytes !== "string") return undefined;
  return eventOf(Buffer.from(bytes, "base64").toString());
}

function eventOf(json: string): ServerEvent | undefined {
  const event = objectOf(parseJson(json));
  const type = event?.["type"];
  if (!event || typeof type !== "string") return undefined;
  const { [METRICS]: metrics, ...own } = event;
  // As it came, unless it has to change.
  const data = metrics === undefined && !json.includes("\n") ? json : JSON.stringify(own);
  return new ServerEvent(Buffer.from(encodeEvent(type, data)));
}

function errorOf(name: string | undefined, message: unknown): ServerEvent {
  const type = ERROR_TYPES[name ?? ""] ?? "api_error";
  const text = typeof message === "string" ? message : "The stream failed.";
  const error: JsonObject = { type: "error", error: { type, message: text } };
  return new ServerEvent(Buffer.from(encodeEvent("error", JSON.stringify(error))));
}

/** Returns the headers that are text; undefined if they cannot be read. */
function headersIn(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd];
    const hasLength = type === TEXT || type === BYTES;
    const from = nameEnd + 1 + (hasLength ? 2 : 0);
    if (type === undefined || from > bytes.length) return undefined;
    const size = hasLength ? bytes.readUInt16BE(nameEnd + 1) : VALUE_BYTES[type];
    if (size === undefined || from + size > bytes.length) return undefined;
    const name = bytes.toString("utf8", at + 1, nameEnd);
    if (type === TEXT) headers.set(name, bytes.toString("utf8", from, from + size));
    at = from + size;
  }
  return headers;
}
