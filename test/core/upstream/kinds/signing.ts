import { createHash, createHmac } from "node:crypto";
import * as v from "valibot";
import type { Route } from "../../../../core/catalogue/catalogue.ts";
import type { Protocol } from "../../../../core/catalogue/endpoint.ts";
import type {
  Decoder,
  OutgoingCall,
  OutgoingRequest,
  SettingsOf,
  UpstreamAdapter,
  UpstreamKind,
} from "../../../../core/plugin/upstream-kind.ts";
import type { JsonObject } from "../../../../core/process/json.ts";
import { text, url } from "../../../../core/process/options.ts";
import { FRAMED_TYPE, FrameDecoder } from "./frame-decoder.ts";

/**
 * A kind like a cloud provider's, for tests: the model is in the path, every request is signed,
 * streams may be binary frames, and a token may have to be fetched first.
 */
const settings = {
  address: url(["http"], "an http:// address"),
  secret: text("a secret"),
  /** Address of a token that every request also carries. */
  token_address: v.optional(url(["http"], "an http:// address")),
  /** Accepts forms only, no JSON. */
  forms_only: v.optional(v.boolean(), false),
};

const PROTOCOLS: ReadonlySet<Protocol> = new Set(["messages", "images"]);

export const signing: UpstreamKind<typeof settings> = {
  name: "signing",
  settings,
  protocols: () => PROTOCOLS,
  create: (given) => new Signing(given),
};

class Signing implements UpstreamAdapter {
  private readonly settings: SettingsOf<typeof settings>;
  private token: string | undefined = undefined;

  constructor(given: SettingsOf<typeof settings>) {
    this.settings = given;
  }

  request(call: OutgoingCall, route: Route): OutgoingRequest | undefined {
    const { contentType, body } = call;
    const isJson = contentType === "application/json";
    if (this.settings.forms_only && isJson) return undefined;
    // The model is in the path.
    if (isJson) body.set("model", undefined);
    const operation = call.stream ? "invoke-stream" : "invoke";
    return {
      protocol: call.protocol,
      origin: new URL(this.settings.address).origin,
      path: `/model/${encodeURIComponent(route.model)}/${operation}`,
      headers: [...call.headers, "content-type", contentType],
      body: body.bytes(),
    };
  }

  authorise(request: OutgoingRequest, nowMs: number): string[] | Promise<string[]> {
    const { token_address: address } = this.settings;
    if (address === undefined) return this.sign(request, nowMs);
    if (this.token !== undefined) return ["x-token", this.token, ...this.sign(request, nowMs)];
    return this.fetchToken(address).then((token) => [
      "x-token",
      token,
      ...this.sign(request, nowMs),
    ]);
  }

  decoder(_status: number, contentType: string | undefined): Decoder | undefined {
    return contentType === FRAMED_TYPE ? new FrameDecoder() : undefined;
  }

  describe(): JsonObject {
    return { address: this.settings.address };
  }

  private sign(request: OutgoingRequest, nowMs: number): string[] {
    const date = new Date(nowMs).toISOString();
    const { host } = new URL(request.origin);
    const { path, body } = request;
    return ["x-date", date, "x-signature", signature(this.settings.secret, host, path, date, body)];
  }

  private async fetchToken(address: string): Promise<string> {
    const response = await fetch(address, { method: "POST" });
    const token = await response.text();
    // The message contains a secret, which must never be logged.
    if (!response.ok) throw new RangeError(`${this.settings.secret} gets no token: ${token}`);
    this.token = token;
    return token;
  }
}

export function signature(
  secret: string,
  host: string,
  path: string,
  date: string,
  body: string | Buffer,
): string {
  const digest = createHash("sha256").update(body).digest("hex");
  const signed = ["POST", host, path, date, digest].join("\n");
  return createHmac("sha256", secret).update(signed).digest("hex");
}
