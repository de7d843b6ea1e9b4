declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";

  export default Agent;
}

declare module "undici/lib/dispatcher/pool.js" {
  import { type Dispatcher, Pool } from "undici";
  import parts from "undici/lib/dispatcher/pool-base.js";

  /** With the choice of a connection that `connect.ts` replaces. */
  export default class ChoosingPool extends Pool {
    protected readonly [parts.kClients]: readonly parts.PooledClient[];
    protected [parts.kGetDispatcher](): Dispatcher | undefined;
    protected [parts.kAddClient](client: Dispatcher): this;
  }
}

declare module "undici/lib/dispatcher/pool-base.js" {
  import { Dispatcher } from "undici";

  const parts: {
    readonly kClients: unique symbol;
    readonly kGetDispatcher: unique symbol;
    readonly kAddClient: unique symbol;
    readonly kNeedDrain: unique symbol;
  };

  namespace parts {
    interface PooledClient extends Dispatcher {
      /** True from the start of a call to its end. */
      readonly [parts.kNeedDrain]?: boolean;
      /** When it was opened, in milliseconds since the Unix epoch. */
      readonly ttl?: number;
    }
  }

  export default parts;
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
