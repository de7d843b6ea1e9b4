import { isObject, JSON_MAX, type JsonObject } from "../../core/plugin/index.ts";

/** Why a request cannot be translated. The gateway replies with a 400 in the client's protocol. */
interface Reject {
  readonly message: string;
  /** The top-level field at fault. */
  readonly param: string | null;
  /**
   * `unsupported_parameter` if the target protocol cannot express it, null if the request itself is
   * wrong.
   */
  readonly code: "unsupported_parameter" | null;
}

/** The translated request, or why it cannot be translated. */
export type Translated<Body, Context> =
  | {
      readonly ok: true;
      readonly body: Body;
      /** Names of client fields that were dropped because they are only hints. */
      readonly dropped: readonly string[];
      /** Facts about the request that the translation of the reply needs. */
      readonly context: Context;
    }
  | { readonly ok: false; readonly reject: Reject };

const DROPPED_NAMES_MAX = 32;
const HEADER_SAFE = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Collects the first reason to reject a request, and the dropped fields. Functions that translate a
 * part continue after a rejection with a harmless value. So only the end of the translation has to
 * check `rejected`.
 */
export class Notes {
  rejected: Reject | undefined = undefined;
  /** Most requests drop nothing. */
  private names: Set<string> | undefined = undefined;
  private parsedValues = 0;

  /**
   * Rejects a request that is wrong in the client's own protocol. `path` is like
   * `messages[2].content`.
   */
  invalid(path: string, why: string): void {
    this.reject(path, why, null);
  }

  /** Rejects a valid request that the upstream's protocol cannot express. */
  unsupported(path: string, why: string): void {
    this.reject(path, why, "unsupported_parameter");
  }

  /**
   * Drops a hint. Its name may come from the client, so unsafe names are kept out of the header.
   */
  drop(name: string): void {
    if (!HEADER_SAFE.test(name)) return;
    this.names ??= new Set();
    if (this.names.size < DROPPED_NAMES_MAX) this.names.add(name);
  }

  get dropped(): readonly string[] {
    return this.names ? [...this.names] : [];
  }

  /** Reads an optional string; null counts as absent. */
  string(object: JsonObject, key: string, path: string): string | undefined {
    const value = object[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string") return value;
    this.invalid(path, "must be a string");
    return undefined;
  }

  /** Reads a required string that must not be empty. */
  requiredString(object: JsonObject, key: string, path: string): string {
    const value = object[key];
    if (typeof value === "string" && value !== "") return value;
    this.invalid(path, "must be a non-empty string");
    return "";
  }

  /** Reads an optional number. Rejects infinity, which JSON.parse makes of 1e999. */
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

  /** Reads a value that must be an object. */
  element(value: unknown, path: string): JsonObject | undefined {
    if (!isObject(value)) {
      this.invalid(path, "must be an object");
      return undefined;
    }
    return value;
  }

  /** Reads the content of a message or block: a text, or a list of objects, each with its path. */
  parts<Part>(
    content: unknown,
    path: string,
    ofText: (text: string) => Part[],
    ofPart: (part: JsonObject, path: string) => Part[],
  ): Part[] {
    if (typeof content === "string") return ofText(content);
    if (!Array.isArray(content)) {
      this.invalid(path, "must be a string or an array of objects");
      return [];
    }
    return content.flatMap((item: unknown, at) => {
      const part = this.element(item, `${path}[${at}]`);
      return part ? ofPart(part, `${path}[${at}]`) : [];
    });
  }

  /** Counts values parsed out of a string. Rejects a request with more of them than a body may have. */
  countParsed(values: number, path: string): void {
    this.parsedValues += values;
    if (this.parsedValues <= JSON_MAX.values) return;
    this.invalid(
      path,
      `the arguments up to here have more than ${JSON_MAX.values} values together`,
    );
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
