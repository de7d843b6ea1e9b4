import type { Dispatcher } from "undici";
import type { Limits } from "../../core/plugin/config.ts";
import type { LoadedUpstream } from "../../core/plugin/upstream-kind.ts";
import type { Clock } from "../../core/process/clock.ts";
import type { Log } from "../../core/process/log.ts";
import { HttpUpstream } from "../../core/upstream/http-upstream.ts";
import { httpJson } from "../../core/upstream/kinds/http-json.ts";
import { tryRoute } from "../../core/upstream/trial.ts";
import { ConnectedUpstreams } from "../../core/upstream/upstreams.ts";
import type { SimulatedProvider } from "./provider.ts";

const NAME = "main";

/** One upstream with simulated connections. */
export class SimulatedUpstreams extends ConnectedUpstreams {
  private readonly upstream: HttpUpstream;

  constructor(provider: SimulatedProvider, limits: Limits, clock: Clock, log: Log) {
    super(
      { limits, upstreams: {}, proxies: { httpsProxy: undefined, noProxy: undefined } },
      clock,
      log,
    );
    const settings = {
      protocols: { chat: "https://provider.example/v1" },
      keys: ["k"],
      headers: {},
    };
    const config = {
      protocols: new Set(["chat"]),
      firstByteMs: Number.POSITIVE_INFINITY,
      replyMs: Number.POSITIVE_INFINITY,
      createAdapter: () => httpJson.create(settings),
    } as unknown as LoadedUpstream;
    const dispatcher = provider as unknown as Dispatcher;
    this.upstream = new HttpUpstream(
      NAME,
      config,
      dispatcher,
      limits.connectMs,
      clock,
      log,
      tryRoute,
    );
  }

  override get(name: string): HttpUpstream | undefined {
    return name === NAME ? this.upstream : undefined;
  }

  override *all(): Generator<HttpUpstream> {
    yield this.upstream;
  }
}
