import type { Refusal } from "./refusal.ts";

/** Returns the error object that clients of Chat, Responses, images and speech expect. */
function openAiError(refusal: Refusal): { error: object } {
  return {
    error: {
      message: refusal.message,
      type: refusal.type,
      param: refusal.param,
      code: refusal.code ?? (refusal.type === "insufficient_balance" ? refusal.type : null),
    },
  };
}

export const openAiErrorBody = (refusal: Refusal): string => JSON.stringify(openAiError(refusal));
