/** False under a Node that uWebSockets.js has no build for: gateways then listen by `node:http`. */
export const hasNativeEngine = await import("uWebSockets.js").then(
  () => true,
  () => false,
);
