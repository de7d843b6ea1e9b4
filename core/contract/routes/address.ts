/** Where a host and port are called: an IPv6 address stands in brackets there. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
