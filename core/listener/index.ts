export type { HttpRequest, HttpResponse, Listener } from "./listener.ts";
export { openListener } from "./open.ts";
