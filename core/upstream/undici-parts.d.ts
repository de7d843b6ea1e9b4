declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";

  export default Agent;
}

declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";

  export default Pool;
}

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  import symbols from "undici/lib/core/symbols.js";

  /** With the parts of its queue that `connect.ts` needs. */
  export default class QueuedClient extends Client {
    [symbols.kQueue]: ({ readonly aborted: boolean } | null)[];
    [symbols.kPendingIdx]: number;
  }
}

declare module "undici/lib/core/symbols.js" {
  const symbols: { readonly kQueue: unique symbol; readonly kPendingIdx: unique symbol };

  export default symbols;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";

  export default buildConnector;
}
