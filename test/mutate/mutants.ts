import {
  type AnyNode,
  type AssignmentExpression,
  type BinaryExpression,
  type Literal,
  type LogicalExpression,
  type Node,
  parse,
} from "acorn";
import { fullAncestor } from "acorn-walk";

/** A change of one place in a compiled file. */
export interface Mutant {
  /** Path from the package's root: `dist/core/money/wallets.js`. */
  readonly file: string;
  /** Offsets in the file's text; `replacement` takes the place of what is between. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

type Change = Pick<Mutant, "start" | "end" | "replacement">;

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "==": ["!="],
  "!=": ["=="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "++": ["--"],
  "--": ["++"],
};
const METHODS: Readonly<Record<string, string>> = {
  min: "max",
  max: "min",
  ceil: "floor",
  floor: "ceil",
  some: "every",
  every: "some",
};
/** Calls that only tests or operators notice, and callers do not: logs and failpoints. */
const LOGS = new Set(["debug", "info", "warn", "error", "fatal"]);

/**
 * Returns every mutant of a compiled file, in the order of the text. Leaves out what no test should depend on: the texts
 * of messages for people, log calls, failpoints, and constructors that only keep their arguments.
 */
export function mutantsOf(file: string, text: string): Mutant[] {
  const mutants: Mutant[] = [];
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module" });
  fullAncestor(program, (node, _state, ancestors) => {
    if (ancestors.some(isAside) || isConstructor(node, ancestors)) return;
    const parent = ancestors.at(-2);
    for (const change of changesOf(node as AnyNode, parent as AnyNode | undefined, text)) {
      mutants.push({ file, ...change });
    }
  });
  const isSame = (one: Mutant, other: Mutant) =>
    one.start === other.start && one.end === other.end && one.replacement === other.replacement;
  return mutants
    .sort((one, other) => one.start - other.start || one.end - other.end)
    .filter(
      (mutant, at, all) => !all.slice(Math.max(0, at - 4), at).some((each) => isSame(each, mutant)),
    );
}

function changesOf(node: AnyNode, parent: AnyNode | undefined, text: string): Change[] {
  const whole = (replacement: string): Change => ({
    start: node.start,
    end: node.end,
    replacement,
  });
  const code = text.slice(node.start, node.end);
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return operatorChanges(node, text);
    case "UpdateExpression":
      return [whole(code.replace(node.operator, OPERATORS[node.operator]?.[0] ?? ""))];
    case "UnaryExpression":
      return node.operator === "!"
        ? [whole(text.slice(node.argument.start, node.argument.end))]
        : [];
    case "IfStatement":
    case "WhileStatement":
    case "ConditionalExpression": {
      const { start, end } = node.test;
      return [{ start, end, replacement: `!(${text.slice(start, end)})` }];
    }
    case "ExpressionStatement":
      return isKept(node.expression as AnyNode, code) ? [] : [whole(";")];
    case "ReturnStatement":
      return node.argument && node.argument.type !== "Identifier" ? [whole("return;")] : [];
    case "ThrowStatement":
      return [whole(";")];
    case "BlockStatement": {
      const isBody = parent !== undefined && /Function/.test(parent.type) && node.body.length > 0;
      return isBody ? [whole("{}")] : [];
    }
    case "Identifier": {
      const isCalled = parent?.type === "MemberExpression" && parent.property === node;
      const other = METHODS[node.name];
      return isCalled && !parent.computed && other ? [whole(other)] : [];
    }
    case "Literal":
      return literalChanges(node, parent, whole);
    default:
      return [];
  }
}

function operatorChanges(
  { left, right, operator }: BinaryExpression | LogicalExpression | AssignmentExpression,
  text: string,
): Change[] {
  const between = text.slice(left.end, right.start);
  const start = left.end + between.indexOf(operator);
  // `a ?? b` and `a ??= b`: drops what is used instead of a missing value.
  if (operator === "??") return [{ start: left.end, end: right.end, replacement: "" }];
  if (operator === "+" && (isText(left) || isText(right))) return [];
  const others = OPERATORS[operator] ?? [];
  return others.map((replacement) => ({ start, end: start + operator.length, replacement }));
}

function isText(node: { readonly type: string; readonly value?: unknown }): boolean {
  return node.type === "TemplateLiteral" || typeof node.value === "string";
}

function literalChanges(
  { value }: Literal,
  parent: AnyNode | undefined,
  whole: (replacement: string) => Change,
): Change[] {
  if (!parent || /^(?:Import|Export)/.test(parent.type)) return [];
  if ("key" in parent && parent.key.type === "Literal" && parent.key.value === value) return [];
  if (typeof value === "boolean") return [whole(String(!value))];
  if (typeof value === "number") return [whole(String(value + 1))];
  if (typeof value !== "string" || value.includes(" ")) return [];
  return [whole(value === "" ? '"mutated"' : '""')];
}

/** Returns true for a call of a log or of a failpoint: `log.warn(…)`, `failpoint(…)`. */
function isAside(node: Node): boolean {
  const { type, callee } = node as AnyNode & { callee?: AnyNode };
  if (type !== "CallExpression") return false;
  if (callee?.type === "Identifier") return callee.name === "failpoint";
  if (callee?.type !== "MemberExpression") return false;
  return callee.property.type === "Identifier" && LOGS.has(callee.property.name);
}

/** Returns true for a statement that would not compile, or fail everywhere, without it. */
function isKept(expression: AnyNode, code: string): boolean {
  if (isAside(expression) || /^(?:super|"use|'use)/.test(code)) return true;
  return /^this\.(\w+) = \1;?$/.test(code);
}

/** Returns true for the body of a constructor: an object without its fields fails everywhere. */
function isConstructor({ type }: Node, ancestors: readonly Node[]): boolean {
  const method = ancestors.at(-3) as AnyNode | undefined;
  return (
    type === "BlockStatement" &&
    method?.type === "MethodDefinition" &&
    method.kind === "constructor"
  );
}
