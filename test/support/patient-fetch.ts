import { Agent, setGlobalDispatcher } from "undici";

/** Five hundred connections at once take a busy machine longer than the 10 s that `fetch` gives each. */
setGlobalDispatcher(new Agent({ connect: { timeout: 120_000 } }));
