import { readFile } from "node:fs/promises";
import { messageOf, objectOf, v } from "../../../core/plugin/index.ts";
import type { Client } from "./client.ts";
import {
  type Ask,
  type Command,
  encoded,
  numeric,
  type Output,
  type Values,
  value,
} from "./command.ts";
import { MONEY_FLAGS, postMoney } from "./confirm.ts";
import { EXIT, Failure } from "./failure.ts";
import { list } from "./pages.ts";

/** A plugin's command as the gateway describes it. Ignores keys that later versions add. */
const declared = v.object({
  words: v.string(),
  about: v.string(),
  method: v.picklist(["GET", "POST", "DELETE"]),
  path: v.string(),
  options: v.optional(
    v.array(
      v.object({
        name: v.string(),
        value: v.optional(v.string()),
        about: v.optional(v.string()),
        example: v.optional(v.string()),
        required: v.optional(v.boolean(), false),
        type: v.optional(v.picklist(["text", "number", "flag", "file"]), "text"),
      }),
    ),
    [],
  ),
  oneOf: v.optional(v.array(v.string()), []),
  fields: v.optional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])), {}),
  confirms: v.optional(v.boolean(), false),
  pages: v.optional(v.object({ query: v.string(), field: v.string() })),
});

type Read = v.InferOutput<typeof declared>;

/** Reads the commands that plugins add from a running gateway. Throws a Failure if it cannot. */
export async function pluginCommands(client: Client): Promise<Command[]> {
  const read = v.safeParse(v.array(declared), await client.get("/commands"));
  if (read.success) return read.output.map(commandOf);
  throw new Failure(
    EXIT.refused,
    "cannot read the gateway's commands; use the same version of Tollgate as the gateway",
  );
}

function commandOf(read: Read): Command {
  const { words, about, options, oneOf } = read;
  const flags = options.filter(({ type }) => type === "flag");
  const valued = options.filter(({ type }) => type !== "flag");
  const named = (required: boolean) =>
    valued.filter((option) => option.required === required).map(({ name }) => name);
  return {
    words,
    about,
    required: named(true),
    optional: named(false),
    flags: [...flags.map(({ name }) => name), ...(read.confirms ? MONEY_FLAGS : [])],
    options: Object.fromEntries(
      options.map(({ name, value, about: text, example }) => [
        name,
        { value, about: text, example },
      ]),
    ),
    inExample: oneOf.slice(0, 1),
    run: (client, values, ask) => run(read, client.below(""), values, ask),
  };
}

async function run(read: Read, client: Client, values: Values, ask?: Ask): Promise<Output> {
  const { words, method, oneOf, pages } = read;
  if (oneOf.length > 0 && oneOf.filter((name) => values[name] !== undefined).length !== 1) {
    const either = oneOf.map((name) => `--${name}`).join(" or ");
    throw new Failure(EXIT.usage, `${words} needs either ${either}`);
  }
  const path = read.path.replaceAll(PART, (_, name: string) => encoded(values[name]));
  const sent = await sentOf(read, values);
  if (pages) {
    const { limit, ...query } = textsOf(sent);
    return list(client, path, query, limit, (last) => ({
      [pages.query]: String(last[pages.field]),
    }));
  }
  if (method === "GET") return value(await client.get(path, textsOf(sent)));
  if (method === "DELETE") return value(await client.delete(path, sent));
  if (read.confirms) {
    const reply = await postMoney(client, path, sent, values, ask);
    const notice = objectOf(reply)?.["notice"];
    // A file of rows does not show it.
    if (typeof notice === "string") console.error(notice);
    return value(reply);
  }
  return value(await client.post(path, sent));
}

const PART = /:([^/]+)/g;

/** Returns the fixed fields, and the given options that are not in the path. */
async function sentOf({ path, fields, options }: Read, values: Values) {
  const inPath = new Set(Array.from(path.matchAll(PART), ([, name]) => name));
  const sent: Record<string, string | number | boolean> = { ...fields };
  for (const { name, type } of options) {
    const text = values[name];
    if (text === undefined || inPath.has(name)) continue;
    const field = name.replaceAll("-", "_");
    switch (type) {
      case "flag":
        sent[field] = true;
        break;
      case "number":
        sent[field] = numeric(text);
        break;
      case "file":
        sent[field] = await textIn(text);
        break;
      default:
        sent[field] = text;
    }
  }
  return sent;
}

async function textIn(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new Failure(EXIT.usage, `cannot read ${path}: ${messageOf(error)}`);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Failure(EXIT.usage, `${path} is not in UTF-8; save it as "CSV UTF-8"`);
  }
}

function textsOf(sent: Readonly<Record<string, string | number | boolean>>) {
  const texts: Record<string, string> = {};
  for (const [name, field] of Object.entries(sent)) texts[name] = String(field);
  return texts;
}
