import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
  type RequestBody,
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

  /** Returns the body to send: without reasoning, once that was refused. */
  fit(body: RequestBody): RequestBody {
    if (!this.isLeftOut) return body;
    const fitted = body.copy();
    const input = arrayOf(body.read("input"));
    fitted.set(
      "input",
      input.filter((item) => !isReasoning(item)),
    );
    return fitted;
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
  // xAI calls any state a compaction: chenyme/grok2api#688
  if (/could not decode the compaction blob/i.test(text)) return true;
  return /encrypted content .{0,200}could not be (verified|decrypted)/i.test(text);
}
