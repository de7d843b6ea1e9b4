import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import {
  type PlainRequest,
  type Refusal,
  refuse,
  type Services,
  secretFile,
} from "../../core/contract/index.ts";
import type { Settings } from "./options.ts";

const FILE = "sepay-webhook-key";

/**
 * Lets in what SePay has sent, by either of its two ways to say so: `X-SePay-Signature: sha256=<hex>`, an
 * HMAC-SHA256 over `<X-SePay-Timestamp>.<body>`, or `Authorization: Apikey <key>`. A way without a secret in
 * the config is closed; where both are without, a random one in the data folder serves for both, so there
 * is no way in without a secret.
 */
export class WebhookGuard {
  private readonly services: Services;
  private readonly webhook: Settings["webhook"];
  private hmacSecret: string | undefined;
  private apiKey: string | undefined;

  constructor(services: Services, { webhook }: Settings) {
    this.services = services;
    this.webhook = webhook;
    this.hmacSecret = webhook.hmac_secret;
    this.apiKey = webhook.api_key;
  }

  /** Makes the file with the secret where one is needed. */
  async prepare(): Promise<void> {
    if (this.hmacSecret !== undefined || this.apiKey !== undefined) return;
    const secret = await secretFile(join(this.services.config.stores.data, FILE));
    this.hmacSecret = secret;
    this.apiKey = secret;
  }

  /** Undefined where the request is SePay's. */
  check({ headers, body }: PlainRequest): Refusal | undefined {
    const signature = headers["x-sepay-signature"];
    const authorization = headers["authorization"];
    if (signature !== undefined && this.hmacSecret !== undefined) {
      const timestamp = headers["x-sepay-timestamp"] ?? "";
      return this.checkSignature(this.hmacSecret, signature, timestamp, body);
    }
    const given = /^apikey +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given !== undefined && this.apiKey !== undefined) {
      // Digests have one length, so that the time of the comparison tells nothing of the key.
      return timingSafeEqual(digest(given), digest(this.apiKey))
        ? undefined
        : denied("The API key is wrong.");
    }
    return denied("The notification is not signed in a way that is switched on here.");
  }

  private checkSignature(
    secret: string,
    signature: string,
    timestamp: string,
    body: Buffer,
  ): Refusal | undefined {
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1];
    if (hex === undefined || !/^\d{1,12}$/.test(timestamp)) {
      return denied("The signature or its timestamp is not in SePay's form.");
    }
    const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
    if (!timingSafeEqual(Buffer.from(hex, "hex"), expected)) {
      return denied("The signature is wrong.");
    }
    // A transfer counts once, however often it is told: an old notification could do no harm, but tells of a
    // clock that is wrong, or of somebody who has listened.
    const ageSeconds = Math.abs(this.services.clock.now() / 1000 - Number(timestamp));
    if (ageSeconds <= this.webhook.clock_tolerance_seconds) return undefined;
    return denied("The timestamp is too far from this clock.");
  }
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

function denied(message: string): Refusal {
  return refuse.unauthenticated(message, { code: "invalid_signature" });
}
