import type { Rule } from "./rule.ts";

/** The rules of OpenAI for images, made and edited. */
export const imageRules: readonly Rule[] = [
  {
    id: "i-response-format",
    models: /^gpt-image/,
    code: "unknown_parameter",
    source: "vercel/ai#6102; lofcz/LLMTornado#155",
    refuses: ({ body }) =>
      body["response_format"] !== undefined && "Unknown parameter: 'response_format'.",
  },
  {
    id: "i-input-fidelity",
    models: /^gpt-image-2/,
    code: "invalid_input_fidelity_model",
    source: "vulca-org/vulca-visual-control-sdk#12; pydantic/pydantic-ai#5413",
    refuses: ({ model, body }) =>
      body["input_fidelity"] !== undefined &&
      `The model '${model}' does not support the 'input_fidelity' parameter.`,
  },
];
