/** Returns the URL of a host and port. Puts an IPv6 address in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Returns the URL with an address that a client can connect to, if the host only listens: 0.0.0.0
 * or [::].
 */
export function reachableAddress(url: string): string {
  return url.replace(/^(https?:\/\/)(0\.0\.0\.0|\[[0:]+\])(?=[:/]|$)/, (_, scheme, host) =>
    host === "0.0.0.0" ? `${scheme}127.0.0.1` : `${scheme}[::1]`,
  );
}
