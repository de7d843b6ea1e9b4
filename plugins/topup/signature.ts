import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import {
  type PlainRequest,
  type Refusal,
  refuse,
  type Services,
  secretFile,
} from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";

const FILE = "sepay-webhook-key";

/**
 * Accepts only requests from SePay, which authenticate in one of two ways: `X-SePay-Signature: sha256=<hex>`, an
 * HMAC-SHA256 of `<X-SePay-Timestamp>.<body>`, or `Authorization: Apikey <key>`. Only ways with a secret in the config
 * are accepted. If neither has one, both use a random secret from the data folder.
 */
export class WebhookGuard {
  private readonly webhook: Settings["webhook"];
  private hmacSecret: string | undefined;
  private apiKey: string | undefined;

  constructor(
    private readonly services: Services,
    { webhook }: Settings,
  ) {
    this.webhook = webhook;
    this.hmacSecret = webhook.hmac_secret;
    this.apiKey = webhook.api_key;
  }

  /** Creates the secret file if it is needed. */
  async prepare(): Promise<void> {
    if (this.hmacSecret !== undefined || this.apiKey !== undefined) return;
    const secret = await secretFile(join(this.services.config.stores.data, FILE));
    this.hmacSecret = secret;
    this.apiKey = secret;
  }

  /** Returns undefined if the request is from SePay, or else a refusal. */
  check({ headers, body }: PlainRequest): Refusal | undefined {
    const signature = headers["x-sepay-signature"];
    const authorization = headers["authorization"];
    if (signature !== undefined && this.hmacSecret !== undefined) {
      const timestamp = headers["x-sepay-timestamp"] ?? "";
      return this.checkSignature(this.hmacSecret, signature, timestamp, body);
    }
    const given = /^apikey +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given !== undefined && this.apiKey !== undefined) {
      // `timingSafeEqual` needs equal lengths, which digests have.
      return timingSafeEqual(digest(given), digest(this.apiKey))
        ? undefined
        : denied("The API key is wrong.");
    }
    return denied("The notification has no signature or API key that this gateway accepts.");
  }

  private checkSignature(
    secret: string,
    signature: string,
    timestamp: string,
    body: Buffer,
  ): Refusal | undefined {
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1];
    if (hex === undefined || !/^\d{1,12}$/.test(timestamp)) {
      return denied("The signature or its timestamp does not have SePay's format.");
    }
    const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
    if (!timingSafeEqual(Buffer.from(hex, "hex"), expected)) {
      return denied("The signature is wrong.");
    }
    // An old notification is harmless, since a transfer counts once. But it means a wrong clock or a replay.
    const ageSeconds = Math.abs(this.services.clock.now() / 1000 - Number(timestamp));
    if (ageSeconds <= this.webhook.clock_tolerance_seconds) return undefined;
    return denied("The timestamp is too far from the gateway's clock; check both clocks.");
  }
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

function denied(message: string): Refusal {
  return refuse.unauthenticated(message, { code: "invalid_signature" });
}
