// `undici` itself loads in 0.15 s, of which these two modules are a third.
import Agent from "undici/lib/dispatcher/agent.js";
import { setGlobalDispatcher } from "undici/lib/global.js";

/** Five hundred connections at once take a busy machine longer than the 10 s that `fetch` gives each. */
setGlobalDispatcher(new Agent({ connect: { timeout: 120_000 } }));
