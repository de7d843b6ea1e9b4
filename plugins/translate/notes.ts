import { isObject, type JsonObject } from "../../core/contract/index.ts";

/** Why a request cannot be translated; the gateway answers it with a 400 in the client's protocol. */
interface Reject {
  readonly message: string;
  /** The top-level field at fault. */
  readonly param: string | null;
  /** `unsupported_parameter` where the target cannot express it, null where the request itself is wrong. */
  readonly code: "unsupported_parameter" | null;
}

/** A request as the upstream gets it, or the reason why it cannot have it. */
export type Translated<Body, Context> =
  | {
      readonly ok: true;
      readonly body: Body;
      /** Names of client fields that were left out because they are only hints. */
      readonly dropped: readonly string[];
      /** What the way back needs to know. */
      readonly context: Context;
    }
  | { readonly ok: false; readonly reject: Reject };

const DROPPED_NAMES_MAX = 32;
const HEADER_SAFE = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * What is noted while a request is translated: the first reason to reject it, and the fields left out. The
 * functions that translate the parts go on after a rejection and give back something harmless; one look at
 * the end of the translation then does for all of them.
 */
export class Notes {
  rejected: Reject | undefined = undefined;
  private readonly names = new Set<string>();

  /** The request is wrong in the client's own protocol. `path` is where, such as `messages[2].content`. */
  invalid(path: string, why: string): void {
    this.reject(path, why, null);
  }

  /** The request is right, but the upstream's protocol has nothing that means the same. */
  unsupported(path: string, why: string): void {
    this.reject(path, why, "unsupported_parameter");
  }

  /** Leaves a hint out. The name may come from the client, so only harmless ones reach a header. */
  drop(name: string): void {
    if (this.names.size < DROPPED_NAMES_MAX && HEADER_SAFE.test(name)) this.names.add(name);
  }

  get dropped(): readonly string[] {
    return [...this.names];
  }

  /** An optional string; null counts as absent. */
  string(object: JsonObject, key: string, path: string): string | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string") return value;
    this.invalid(path, "must be a string");
    return undefined;
  }

  /** A string that has to be there and must not be empty. */
  requiredString(object: JsonObject, key: string, path: string): string {
    const value = object[key];
    if (typeof value === "string" && value !== "") return value;
    this.invalid(path, "must be a non-empty string");
    return "";
  }

  /** An optional number; JSON has no infinities, but a parser makes one of 1e999. */
  number(object: JsonObject, key: string, path: string): number | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    this.invalid(path, "must be a number");
    return undefined;
  }

  boolean(object: JsonObject, key: string, path: string): boolean | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "boolean") return value;
    this.invalid(path, "must be true or false");
    return undefined;
  }

  array(object: JsonObject, key: string, path: string): readonly unknown[] | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value)) return value;
    this.invalid(path, "must be an array");
    return undefined;
  }

  object(object: JsonObject, key: string, path: string): JsonObject | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    return this.element(value, path);
  }

  /** A value that must be an object. */
  element(value: unknown, path: string): JsonObject | undefined {
    if (!isObject(value)) {
      this.invalid(path, "must be an object");
      return undefined;
    }
    return value;
  }

  private reject(path: string, why: string, code: Reject["code"]): void {
    const param = /^[A-Za-z0-9_]*/.exec(path)?.[0] ?? "";
    this.rejected ??= {
      message: `${path}: ${why}`,
      param: param === "" ? null : param,
      code,
    };
  }
}
