import type { Command } from "../../core/plugin/index.ts";

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  {
    words: "reload",
    about: "read the config again at every gateway, and show which prices it changes",
    method: "POST",
    path: "/admin/v1/reload",
    options: [
      { name: "check", type: "flag", about: "show it, and change nothing" },
      {
        name: "announce",
        type: "flag",
        about: "mail the draft to customers who want changes of prices",
      },
      { name: "reason", value: "TEXT" },
    ],
    confirms: true,
  },
  {
    words: "prices",
    about: "show prices and discounts, those in effect and those announced",
    method: "GET",
    path: "/admin/v1/prices",
    options: [{ name: "model", value: "MODEL", example: "claude-opus-5" }],
  },
  {
    words: "prices history",
    about: "show who changed which price, newest first",
    method: "GET",
    path: "/admin/v1/prices/history",
    options: [
      { name: "model", value: "MODEL", example: "claude-opus-5" },
      { name: "limit", value: "N" },
    ],
    pages: { query: "before", field: "id" },
  },
];
