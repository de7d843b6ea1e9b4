/** Maximum redirections of a command: `maxRedirections` in `core/redis/client.ts`. */
const REDIRECTIONS_MAX = 4;
const TRY_AGAIN_MS = 100;
const CLUSTER_DOWN_MS = 50;

/** How a client of a cluster goes on after an error, as `handleError` of ioredis 6.0.0 decides it. */
export type Remedy =
  | { readonly kind: "moved"; readonly slot: number; readonly address: string }
  | { readonly kind: "ask"; readonly address: string }
  | { readonly kind: "later"; readonly ms: number; readonly refreshes: boolean }
  | { readonly kind: "give up"; readonly error: Error };

/** The redirections of one command. */
export class Redirections {
  private left: number | undefined;

  remedyOf(error: Error): Remedy {
    this.left = this.left === undefined ? REDIRECTIONS_MAX : this.left - 1;
    if (this.left <= 0) {
      return {
        kind: "give up",
        error: new Error(`Too many Cluster redirections. Last error: ${error}`),
      };
    }
    const [what, slot = "", address = ""] = error.message.split(" ");
    if (what === "MOVED") return { kind: "moved", slot: Number(slot), address };
    if (what === "ASK") return { kind: "ask", address };
    if (what === "TRYAGAIN") return { kind: "later", ms: TRY_AGAIN_MS, refreshes: false };
    if (what === "CLUSTERDOWN") return { kind: "later", ms: CLUSTER_DOWN_MS, refreshes: true };
    return { kind: "give up", error };
  }
}
