import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import type { JsonObject } from "../../core/plugin/index.ts";
import type { EffortLevel } from "./profile.ts";

/*
 * Types of the bodies that translations produce, based on the official clients' declarations. They
 * add common extensions of servers: reasoning, thinking blocks and cache marks. Incoming bodies are
 * `unknown` until checked.
 */

/** A cache mark is passed on unchanged: Claude's, or OpenAI's on its way to OpenAI. */
export type Marked = { cache_control?: JsonObject; prompt_cache_breakpoint?: unknown };

/* Chat Completions, as sent to an upstream. */

export type ChatText = OpenAI.Chat.ChatCompletionContentPartText & Marked;
type ChatImage = OpenAI.Chat.ChatCompletionContentPartImage & Marked;
type ChatFile = OpenAI.Chat.ChatCompletionContentPart.File & Marked;
export type ChatPart = ChatText | ChatImage | ChatFile;
export type ChatToolCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall & {
  extra_content?: JsonObject;
};
export type ChatTool = OpenAI.Chat.ChatCompletionFunctionTool & Marked;
export type ChatToolChoice =
  | "none"
  | "auto"
  | "required"
  | OpenAI.Chat.ChatCompletionNamedToolChoice;

type ChatSystem = { role: "system"; content: string | ChatText[] };
type ChatUser = { role: "user"; content: string | ChatPart[] };
export type ChatAssistant = {
  role: "assistant";
  content: string | null;
  reasoning_content?: string;
  reasoning_details?: JsonObject[];
  tool_calls?: ChatToolCall[];
};
export type ChatToolResult = { role: "tool"; tool_call_id: string; content: string } & Marked;
export type ChatMessage = ChatSystem | ChatUser | ChatAssistant | ChatToolResult;

export type ChatRequest = {
  model: string;
  messages: ChatMessage[];
  max_tokens?: number;
  max_completion_tokens?: number;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  stop?: string[];
  stream?: boolean;
  stream_options?: OpenAI.Chat.ChatCompletionStreamOptions;
  tools?: ChatTool[];
  tool_choice?: ChatToolChoice;
  parallel_tool_calls?: boolean;
  reasoning_effort?: EffortLevel | "none";
  response_format?: OpenAI.ResponseFormatJSONSchema;
  service_tier?: "auto" | "default";
  user?: string;
  prompt_cache_key?: string;
};

/* Responses, as sent to an upstream. */

export type ResponsesRequest = {
  model: string;
  input: JsonObject[];
  store: false;
  include?: string[];
  instructions?: string;
  max_output_tokens?: number;
  temperature?: number;
  top_p?: number;
  tools?: JsonObject[];
  tool_choice?: "none" | "auto" | "required" | { type: "function"; name: string };
  parallel_tool_calls?: boolean;
  reasoning?: { effort?: EffortLevel | "none"; summary?: "auto" };
  text?: { format?: JsonObject; verbosity?: unknown };
  service_tier?: "auto" | "default";
  user?: string;
  prompt_cache_key?: string;
  stream?: boolean;
};

/* Messages, as sent to an upstream. */

export type MessagesText = Pick<Anthropic.TextBlockParam, "type" | "text"> & Marked;
type MessagesImage = {
  type: "image";
  source: Anthropic.Base64ImageSource | Anthropic.URLImageSource;
  /** OpenAI's, on its way to a server of Chat or Responses. */
  detail?: string;
} & Marked;
type MessagesDocument = {
  type: "document";
  source: Anthropic.Base64PDFSource | Anthropic.PlainTextSource | Anthropic.URLPDFSource;
  title?: string;
} & Marked;
export type MessagesToolUse = {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
} & Marked;
export type MessagesToolResult = {
  type: "tool_result";
  tool_use_id: string;
  content?: string | MessagesContent[];
} & Marked;
/** Blocks that are allowed in user messages and in tool results. */
export type MessagesContent = MessagesText | MessagesImage | MessagesDocument;
/** Signed or redacted thinking must go back to the upstream unchanged. */
export type MessagesThinking =
  | Pick<Anthropic.ThinkingBlockParam, "type" | "thinking" | "signature">
  | Pick<Anthropic.RedactedThinkingBlockParam, "type" | "data">;
export type MessagesBlock =
  | MessagesContent
  | MessagesToolUse
  | MessagesToolResult
  | MessagesThinking;
export type MessagesTurn = { role: "user" | "assistant" | "system"; content: MessagesBlock[] };

export type MessagesTool = Pick<Anthropic.Tool, "name"> & {
  description?: string;
  strict?: true;
  input_schema: JsonObject;
} & Marked;

export type MessagesRequest = {
  model: string;
  max_tokens: number;
  messages: MessagesTurn[];
  system?: MessagesText[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  stop_sequences?: string[];
  stream?: boolean;
  tools?: MessagesTool[];
  tool_choice?: Anthropic.ToolChoice;
  thinking?: JsonObject;
  output_config?: { effort?: EffortLevel; format?: Anthropic.JSONOutputFormat };
  metadata?: { user_id: string };
  service_tier?: "auto" | "standard_only";
};

/* Messages, as sent to a client. */

export type MessagesUsage = Pick<Anthropic.Usage, "input_tokens" | "output_tokens"> & {
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens_details?: Anthropic.OutputTokensDetails;
};
export type MessagesStop = {
  stop_reason: Anthropic.StopReason | null;
  stop_sequence: string | null;
  stop_details?: Pick<Anthropic.RefusalStopDetails, "type" | "category" | "explanation">;
};
export type AnswerBlock =
  /** `refusal` is for a translation that continues from Messages; a client of Messages never gets it. */
  | (Pick<Anthropic.TextBlock, "type" | "text"> & { refusal?: true })
  | Pick<Anthropic.ThinkingBlock, "type" | "thinking" | "signature">
  | Pick<Anthropic.RedactedThinkingBlock, "type" | "data">
  | MessagesToolUse;
export type MessagesAnswer = {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: AnswerBlock[];
  usage: MessagesUsage;
} & MessagesStop;

/** The events of a Messages stream, with the fields that a translation sets. */
export type MessagesEvent =
  | { type: "message_start"; message: MessagesAnswer }
  | { type: "content_block_start"; index: number; content_block: AnswerBlock }
  | {
      type: "content_block_delta";
      index: number;
      delta: Exclude<Anthropic.RawContentBlockDelta, Anthropic.CitationsDelta>;
    }
  | { type: "content_block_stop"; index: number }
  | { type: "message_delta"; delta: MessagesStop; usage: MessagesUsage }
  | { type: "message_stop" }
  | { type: "ping" }
  | MessagesError;

export type MessagesError = {
  type: "error";
  error: { type: string; message: string };
  request_id?: string;
};

/* Chat Completions, as sent to a client. */

export type ChatUsage = {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  completion_tokens_details?: { reasoning_tokens: number };
};
export type FinishReason = "stop" | "length" | "tool_calls" | "function_call" | "content_filter";
export type AnswerToolCall = OpenAI.Chat.ChatCompletionMessageToolCall;
export type ChatAnswerMessage = {
  role: "assistant";
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  thinking_blocks?: JsonObject[];
  tool_calls?: AnswerToolCall[];
  function_call?: OpenAI.Chat.ChatCompletionMessage.FunctionCall;
  annotations?: OpenAI.Chat.ChatCompletionMessage.Annotation[];
};
export type ChatAnswer = {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: [
    {
      index: 0;
      message: ChatAnswerMessage;
      logprobs: null;
      finish_reason: FinishReason;
    },
  ];
  usage: ChatUsage;
};

/** A delta of a streamed tool call. The published declarations do not have custom calls yet. */
export type ToolCallDelta =
  | OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall
  | { index: number; id: string; type: "custom"; custom: { name: string; input: string } }
  | { index: number; custom: { input: string } };
export type ChatDelta = Pick<
  OpenAI.Chat.ChatCompletionChunk.Choice.Delta,
  "role" | "content" | "refusal"
> & {
  reasoning_content?: string;
  thinking_blocks?: JsonObject[];
  tool_calls?: ToolCallDelta[];
  function_call?: OpenAI.Chat.ChatCompletionChunk.Choice.Delta.FunctionCall;
};

export type ChatError = {
  error: { message: string; type: string; param: string | null; code: string | null };
};
