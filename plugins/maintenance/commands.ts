import type { Command } from "../../core/plugin/index.ts";

const route = { path: "/admin/v1/maintenance" };
const reason: NonNullable<Command["options"]>[number] = { name: "reason", value: "TEXT" };

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  { ...route, words: "maintenance", about: "show whether maintenance is on", method: "GET" },
  {
    ...route,
    words: "maintenance on",
    about: "refuse new calls with 503 and a message, in every process; calls in flight finish",
    method: "POST",
    fields: { enabled: true },
    options: [{ name: "message", value: "TEXT", about: "what clients get" }, reason],
  },
  {
    ...route,
    words: "maintenance off",
    about: "accept calls again",
    method: "POST",
    fields: { enabled: false },
    options: [reason],
  },
];
