import type { Protocol } from "../../contract/protocol.ts";
import { arrayOf, type JsonObject, objectOf } from "../../process/json.ts";
import { Found, type Use } from "./found.ts";
import { findInContent, findInItems, findInMark, findInTurns } from "./parts.ts";
import { FIELDS, type FieldRow, STORE } from "./table.ts";
import { rowOfTool } from "./tools.ts";

/**
 * Returns every part of a body that has a row in the table. Runs for each call: reads each field,
 * tool and part once, and no text.
 */
export function usesIn(body: JsonObject, protocol: Protocol): readonly Use[] {
  const found = new Found();
  const rows = ROWS_BY_FIELD.get(protocol);
  for (const name in body) {
    const row = rows?.get(name);
    if (row) findInField(row, body, found);
  }
  if (protocol === "responses" && body["store"] == null) addField(STORE, body, found);
  findInTools(body, "tools", protocol, found);
  if (body["cache_control"] != null) findInMark(body, found);
  if (protocol !== "responses") {
    findInTurns(body["messages"], found);
    findInContent(body["system"], "system", found);
  } else if (typeof body["input"] !== "string") {
    findInItems(body["input"], found);
    findInItemTools(body["input"], found);
  }
  return found.uses;
}

/** By protocol. One without priced fields needs no entry. */
const ROWS_BY_FIELD = new Map(
  [...new Set(FIELDS.flatMap(({ on }) => on))].map((protocol) => [protocol, rowsOn(protocol)]),
);

function rowsOn(protocol: Protocol): ReadonlyMap<string, FieldRow> {
  const rows = FIELDS.filter(({ on }) => on.includes(protocol));
  return new Map(rows.map((row) => [row.field, row]));
}

function findInField(row: FieldRow, body: JsonObject, found: Found): void {
  const value = body[row.field];
  if (!isEmpty(value) && row.asks?.(value) !== false) addField(row, body, found);
}

function addField(row: FieldRow, body: JsonObject, found: Found): void {
  const { field, replacement } = row;
  const leaveOut = () => {
    if (replacement === undefined) delete body[field];
    else body[field] = replacement;
  };
  found.add(row, field, field, { leaveOut, isTop: true });
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return Array.isArray(value) && value.length === 0;
}

/** Finds hosted tools in `holder.tools`: the body's, a namespace's, or those of an input item. */
function findInTools(holder: JsonObject, path: string, protocol: Protocol, found: Found): void {
  const tools = arrayOf(holder["tools"]);
  for (let at = 0; at < tools.length; at++) {
    const tool = objectOf(tools[at]);
    if (!tool) continue;
    const row = rowOfTool(tool, protocol);
    if (row) {
      const name = typeof tool["type"] === "string" ? tool["type"] : "tools";
      const leaveOut = () => {
        holder["tools"] = arrayOf(holder["tools"]).filter((other) => other !== tool);
      };
      found.add(row, `${path}[${at}].type`, name, { leaveOut, isTop: path === "tools", tool });
    }
    if (tool["cache_control"] != null) findInMark(tool, found);
    // Namespaces do not nest.
    if (tool["type"] === "namespace" && path === "tools") {
      findInTools(tool, `tools[${at}].tools`, protocol, found);
    }
  }
}

/** Codex adds tools in input items of their own. */
function findInItemTools(input: unknown, found: Found): void {
  const items = arrayOf(input);
  for (let at = 0; at < items.length; at++) {
    const item = objectOf(items[at]);
    if (item?.["type"] !== "additional_tools") continue;
    findInTools(item, `input[${at}].tools`, "responses", found);
  }
}
