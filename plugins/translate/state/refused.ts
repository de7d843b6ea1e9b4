import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
} from "../../../core/plugin/index.ts";

/**
 * Encrypted reasoning that its provider may refuse: it can decrypt only the reasoning of its own
 * organisation, and the gateway's key may have changed. Then the call goes out once more without it.
 */
export class RefusableState {
  private isLeftOut = false;

  /** Returns true the first time that a refusal names the encrypted reasoning. */
  readonly sendsAgain = (status: number, text: string): boolean => {
    if (this.isLeftOut || status !== 400 || !namesState(text)) return false;
    this.isLeftOut = true;
    return true;
  };

  /** True once the reasoning must stay out of the call. */
  get isRefused(): boolean {
    return this.isLeftOut;
  }

  /** Returns the body to send: without reasoning, once that was refused. */
  fit(body: JsonObject): JsonObject {
    if (!this.isLeftOut) return body;
    const input = arrayOf(body["input"]).filter((item) => !isReasoning(item));
    return { ...body, input };
  }
}

/** Returns true if a Responses request has encrypted reasoning. */
export function hasEncryptedReasoning(body: JsonObject): boolean {
  return arrayOf(body["input"]).some(
    (item) => isReasoning(item) && typeof objectOf(item)?.["encrypted_content"] === "string",
  );
}

function isReasoning(item: unknown): boolean {
  return objectOf(item)?.["type"] === "reasoning";
}

function namesState(text: string): boolean {
  const body = parseJson(text);
  const error = isObject(body) ? objectOf(body["error"]) : undefined;
  if (error?.["code"] === "invalid_encrypted_content") return true;
  return /encrypted content .{0,200}could not be (verified|decrypted)/i.test(text);
}
