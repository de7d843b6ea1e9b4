import { type Command, roles } from "../../core/plugin/index.ts";

const OPERATOR = { name: "operator", value: "EMAIL", example: "lan@example.com", required: true };
const ROLE = { name: "role", value: roles.names.join("|"), example: "finance", required: true };
const BASE = "/admin/v1";

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  {
    words: "operator invite",
    about:
      "let a person sign in to the console; prints a link with which they set a password and a second factor, valid for 3 days",
    method: "POST",
    path: `${BASE}/operators`,
    options: [{ ...OPERATOR, name: "email" }, ROLE],
  },
  {
    words: "operator list",
    about: "list the people who can sign in to the console, with their roles",
    method: "GET",
    path: `${BASE}/operators`,
  },
  {
    words: "operator role",
    about: "change the role of a person; it counts from the next request",
    method: "POST",
    path: `${BASE}/operators/:operator/role`,
    options: [OPERATOR, ROLE],
  },
  {
    words: "operator reset",
    about:
      "take password, second factor and sessions from a person; prints a new link. Tokens that the person made stay: `token list`, `token revoke`",
    method: "POST",
    path: `${BASE}/operators/:operator/reset`,
    options: [OPERATOR],
  },
  {
    words: "operator remove",
    about: "end all sessions of a person, and let them in no more",
    method: "POST",
    path: `${BASE}/operators/:operator/remove`,
    options: [OPERATOR],
  },
  {
    words: "token create",
    about: "make a token for a program, with a name, a role and an end; it is shown once",
    method: "POST",
    path: `${BASE}/tokens`,
    options: [
      { name: "name", value: "NAME", example: "billing-job", required: true },
      ROLE,
      { name: "days", value: "N", about: "days until it ends; default 90", type: "number" },
    ],
  },
  {
    words: "token list",
    about: "list the tokens of programs, without their texts",
    method: "GET",
    path: `${BASE}/tokens`,
  },
  {
    words: "token revoke",
    about: "end a token at once",
    method: "POST",
    path: `${BASE}/tokens/:name/revoke`,
    options: [{ name: "name", value: "NAME", example: "billing-job", required: true }],
  },
  {
    words: "approval list",
    about: "list movements of money that need a second person",
    method: "GET",
    path: `${BASE}/approvals`,
    options: [
      {
        name: "state",
        value: "STATE",
        about: "pending, approved, done, failed, refused or expired",
      },
      { name: "limit", value: "N" },
    ],
    pages: { query: "before", field: "id" },
  },
  {
    words: "approval approve",
    about: "make a movement that another person has asked for",
    method: "POST",
    path: `${BASE}/approvals/:approval/approve`,
    options: [{ name: "approval", value: "ID", required: true }],
  },
  {
    words: "approval refuse",
    about: "end a request for a movement, or withdraw your own; nothing changes",
    method: "POST",
    path: `${BASE}/approvals/:approval/refuse`,
    options: [
      { name: "approval", value: "ID", required: true },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
];
