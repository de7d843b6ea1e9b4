import type { OperatorRoute } from "../../core/plugin/index.ts";

/** The one who sends an operator's request. */
export type Operator = Parameters<OperatorRoute["handle"]>[1];
export type Role = Operator["role"];
