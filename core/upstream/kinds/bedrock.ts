import { createHash, createHmac } from "node:crypto";
import * as v from "valibot";
import type { Route } from "../../catalogue/catalogue.ts";
import { PROTOCOLS, type Protocol } from "../../catalogue/endpoint.ts";
import type {
  Decoder,
  OutgoingCall,
  OutgoingRequest,
  SettingsOf,
  UpstreamAdapter,
  UpstreamKind,
} from "../../plugin/upstream-kind.ts";
import type { JsonObject } from "../../process/json.ts";
import { described, matching, text, url } from "../../process/options.ts";
import { EVENT_STREAM_TYPE, EventStreamReader } from "./event-stream.ts";

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

const MESSAGES: ReadonlySet<Protocol> = new Set(["messages"]);

/**
 * Claude on Amazon Bedrock by InvokeModel, with requests that are signed by AWS credentials: those of a role, an instance or
 * a container, which `http-json` with a Bedrock API key cannot use.
 */
export const bedrock: UpstreamKind<typeof settings> = {
  name: "bedrock",
  settings,
  protocols: () => MESSAGES,
  create: (given) => new Bedrock(given),
};

class Bedrock implements UpstreamAdapter {
  private readonly settings: Settings;
  private readonly endpoint: URL;
  private signer: Promise<Signer> | undefined = undefined;

  constructor(given: Settings) {
    this.settings = given;
    const { region, endpoint } = given;
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

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = key === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(key));
  }

  update(data: string | Uint8Array): void {
    this.hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.hash.digest();
  }
}

function bytesOf(key: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof key === "string") return key;
  return ArrayBuffer.isView(key)
    ? new Uint8Array(key.buffer, key.byteOffset, key.byteLength)
    : new Uint8Array(key);
}
