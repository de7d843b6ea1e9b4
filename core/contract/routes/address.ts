/** The URL of a host and port: an IPv6 address stands in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The same URL with an address that can be connected to, if the host is one that only listens: 0.0.0.0 or [::]. */
export function reachableAddress(url: string): string {
  return url.replace(/^(https?:\/\/)(0\.0\.0\.0|\[[0:]+\])(?=[:/]|$)/, (_, scheme, host) =>
    host === "0.0.0.0" ? `${scheme}127.0.0.1` : `${scheme}[::1]`,
  );
}
