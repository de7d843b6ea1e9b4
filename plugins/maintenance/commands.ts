import type { Command, CommandOption } from "../../core/contract/index.ts";

const route = { path: "/admin/v1/maintenance" };
const reason: CommandOption = { name: "reason", value: "TEXT" };

/** An operator's commands for maintenance. */
export const commands: readonly Command[] = [
  { ...route, words: "maintenance", about: "shows whether calls are taken", method: "GET" },
  {
    ...route,
    words: "maintenance on",
    about: "answers new calls with 503 and this message, in every process; running calls finish",
    method: "POST",
    fields: { enabled: true },
    options: [{ name: "message", value: "TEXT" }, reason],
  },
  {
    ...route,
    words: "maintenance off",
    about: "takes calls again",
    method: "POST",
    fields: { enabled: false },
    options: [reason],
  },
];
