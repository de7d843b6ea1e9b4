import { type Row, WORDS } from "./table.ts";

/** Parts of turns, tool results and input items beyond their own text. */
export const PARTS = {
  fileId: {
    rule: "demand",
    feature: "files",
    why: "files are not kept here",
    instead: WORDS.sendContent,
  },
  address: {
    rule: "demand",
    feature: undefined,
    why: "only data: and public http(s) addresses are taken",
    instead: WORDS.sendContent,
  },
  remoteFile: {
    rule: "demand",
    feature: "remote_files",
    why: "only images may be given as a URL",
    instead: WORDS.sendContent,
  },
  containerUpload: {
    rule: "demand",
    feature: "containers",
    why: "containers are not offered",
    instead: WORDS.sendContent,
  },
  stored: {
    rule: "demand",
    feature: "stored_state",
    why: WORDS.noState,
    instead: WORDS.sendContent,
  },
  reasoningReference: {
    rule: "optional",
    feature: "stored_state",
    why: WORDS.noState,
    instead: WORDS.leaveOut,
  },
  reference: {
    rule: "demand",
    feature: "stored_state",
    why: WORDS.noState,
    instead:
      "send the content itself (AI SDK: `store: false` in the provider options, or `openai.chat(model)`)",
  },
  longCache: {
    rule: "hint",
    feature: "long_cache",
    why: "long cache entries cost more",
    instead: "leave ttl out",
  },
} as const satisfies Readonly<Record<string, Row>>;
