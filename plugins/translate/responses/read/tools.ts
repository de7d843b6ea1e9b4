import type Anthropic from "@anthropic-ai/sdk";
import { arrayOf, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { customTool, functionTool } from "../../messages/tools.ts";
import { ToolNames } from "../../names.ts";
import type { Notes } from "../../notes.ts";
import type { MessagesTool } from "../../types.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  readonly name: string;
  readonly namespace: string | undefined;
  /** True if the tool takes text instead of an object. */
  readonly custom: boolean;
}

/** How a tool is called, and what it returns: no other protocol has fields for that. */
const LOST = ["async", "output_schema"] as const;

/** Returns the client's tool for a call of the model. */
export function originalTool(tools: ReadonlyMap<string, ClientTool>, name: string): ClientTool {
  return tools.get(name) ?? { name, namespace: undefined, custom: false };
}

/** The tools of a Responses request. A tool in a namespace becomes `NAMESPACE__NAME`. */
export class ClientTools {
  readonly declared: MessagesTool[] = [];
  private readonly byName = new Map<string, ClientTool>();
  private readonly names = new ToolNames();

  constructor(private readonly notes: Notes) {}

  /** The client's tools by the names that the model sees. */
  get clients(): ReadonlyMap<string, ClientTool> {
    return this.byName;
  }

  /** Returns the name that the model sees. */
  nameOf(name: string, namespace?: unknown): string {
    return this.names.forMessages(
      typeof namespace === "string" && namespace !== "" ? `${namespace}__${name}` : name,
    );
  }

  add(items: readonly unknown[], path: string, namespace?: string): void {
    for (const [at, item] of items.entries()) {
      const tool = this.notes.element(item, `${path}[${at}]`);
      if (tool) this.addOne(tool, `${path}[${at}]`, namespace);
    }
  }

  private addOne(tool: JsonObject, path: string, namespace: string | undefined): void {
    const { notes } = this;
    const { type } = tool;
    if (type === "namespace") {
      const name = notes.requiredString(tool, "name", `${path}.name`);
      if (tool["description"] != null) notes.drop("namespace.description");
      this.add(notes.array(tool, "tools", `${path}.tools`) ?? [], `${path}.tools`, name);
      return;
    }
    if (type !== "function" && type !== "custom") {
      // Agents always send tools of the provider or of their own machine; models work without them.
      notes.drop(typeof type === "string" ? type : "tools");
      return;
    }
    const name = notes.requiredString(tool, "name", `${path}.name`);
    const custom = type === "custom";
    const seen = this.nameOf(name, namespace);
    if (this.byName.has(seen)) {
      notes.drop("tools");
      return;
    }
    this.byName.set(seen, { name, namespace, custom });
    for (const field of LOST) if (tool[field] != null) notes.drop(`tools.${field}`);
    const isDirect = arrayOf(tool["allowed_callers"]).every((caller) => caller === "direct");
    if (!isDirect) notes.drop("tools.allowed_callers");
    this.declared.push((custom ? customTool : functionTool)(seen, tool, path, notes));
  }
}

/** The choice of tools, and the tools that may be chosen from. */
interface Chosen {
  readonly tools: readonly MessagesTool[];
  readonly choice: Anthropic.ToolChoice | undefined;
}

/** Reads `tool_choice` and `parallel_tool_calls`. */
export function chosenTools(body: JsonObject, tools: ClientTools, notes: Notes): Chosen {
  const { declared } = tools;
  const parallel = notes.boolean(body, "parallel_tool_calls", "parallel_tool_calls");
  const made = choiceOf(body["tool_choice"], tools, notes);
  if (declared.length === 0) {
    if (made.choice?.type === "any") notes.drop("tool_choice");
    return { tools: [], choice: undefined };
  }
  const choice: Anthropic.ToolChoice =
    parallel === false && made.choice?.type !== "none"
      ? { ...(made.choice ?? { type: "auto" }), disable_parallel_tool_use: true }
      : (made.choice ?? { type: "auto" });
  const isDefault = made.choice === undefined && parallel !== false;
  return { tools: made.tools, choice: isDefault ? undefined : choice };
}

function choiceOf(given: unknown, tools: ClientTools, notes: Notes): Chosen {
  const { declared } = tools;
  const all = (choice?: Anthropic.ToolChoice): Chosen => ({ tools: declared, choice });
  if (given === undefined || given === null || given === "auto") return all();
  if (given === "none") return all({ type: "none" });
  if (given === "required") return all({ type: "any" });
  const choice = objectOf(given);
  if (choice?.["type"] === "allowed_tools") {
    const names = new Set(arrayOf(choice["tools"]).map((one) => seenName(objectOf(one), tools)));
    const allowed = declared.filter(({ name }) => names.has(name));
    if (allowed.length === 0) notes.invalid("tool_choice", "allows no tool of this request");
    return {
      tools: allowed,
      choice: choice["mode"] === "required" ? { type: "any" } : undefined,
    };
  }
  const name = seenName(choice, tools);
  if (name === undefined || !declared.some((tool) => tool.name === name)) {
    notes.unsupported("tool_choice", "names no function or custom tool of this request");
    return all();
  }
  return all({ type: "tool", name });
}

function seenName(choice: JsonObject | undefined, tools: ClientTools): string | undefined {
  const name = choice?.["name"];
  return typeof name === "string" ? tools.nameOf(name, choice?.["namespace"]) : undefined;
}
