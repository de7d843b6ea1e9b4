import type { Command } from "../../core/plugin/index.ts";

const name = {
  name: "name",
  value: "UPSTREAM",
  about: "its name in the config",
  example: "openai",
  required: true,
};
const model = { name: "model", value: "MODEL", about: "one model of it", example: "gpt-5.5" };
const key = {
  name: "key",
  value: "LAST4",
  about: "one API key of it, by its last four characters",
};
const reason = { name: "reason", value: "TEXT", required: true };
const path = "/admin/v1/upstreams/:name/switch";

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  {
    words: "upstream off",
    about: "send no new calls to an upstream, or none of a model or with a key, at every gateway",
    method: "POST",
    path,
    fields: { off: true },
    options: [name, model, key, reason],
  },
  {
    words: "upstream on",
    about: "send calls there again, and say what is still off; state the same --model and --key",
    method: "POST",
    path,
    fields: { off: false },
    options: [name, model, key, reason],
  },
  {
    words: "upstream try",
    about: "make one short, real call, and show its status, time, usage and cost",
    method: "POST",
    path: "/admin/v1/upstreams/:name/try",
    options: [name, { ...model, required: true }, key, { ...reason, required: false }],
  },
];
