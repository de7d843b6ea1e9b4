/** The context at which clients compact that do, far above their own prompts. */
export const COMPACTS_AT_TOKENS = 75_000;

/** The surroundings in which a client runs. */
export interface Surroundings {
  /** The gateway's address, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  /** Folders: of the client itself, and the one that it works in. */
  readonly installed: string;
  readonly folder: string;
  /** A Node that all clients support. */
  readonly node: string;
}

/** A program to start. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Config files of the client, by their path in its folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A call that the model makes: the name of the client's tool and its arguments. */
export interface Call {
  readonly name: string;
  readonly arguments: object | string;
}

/**
 * The operations that a task needs, as calls of the client's tools. A list names alternatives: the first tool that the
 * client offers counts.
 */
export interface Tools {
  read(path: string): Call | readonly Call[];
  /** Replaces one line by another. */
  replace(path: string, before: string, after: string): Call | readonly Call[];
}

/** An agent or a library, and how to run it. */
export interface Client {
  readonly name: string;
  readonly protocol: "messages" | "chat" | "responses";
  /** The packages that npm installs for it. Clients with equal packages share an installation. */
  readonly packages: readonly string[];
  readonly tools: Tools;
  /** Its context is full after the files are read, so it compacts its conversation. */
  readonly compacts?: true;
  command(around: Surroundings): Command;
}
