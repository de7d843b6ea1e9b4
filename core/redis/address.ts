import { isIP } from "node:net";

/** Returns the URL of a server as options of ioredis. */
export function addressOf(server: string) {
  const { protocol, hostname, port, username, password, pathname } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, "");
  return {
    host,
    port: Number(port || 6379),
    db: Number(pathname.slice(1)),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    // Node does not send the name by itself, and a proxy before several servers needs it.
    ...(protocol === "rediss:" && { tls: isIP(host) === 0 ? { servername: host } : {} }),
  };
}
