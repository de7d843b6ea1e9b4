/** The path of all pages. */
export const BASE = "/console";
