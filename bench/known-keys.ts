import { Connection } from "./load/connection.ts";
import type { Target } from "./targets.ts";
import { CHAT_MODEL } from "./workload.ts";

const CONNECTIONS = 8;

/** Makes a gateway know keys: sends a request with each that costs nothing. Rejects if one of them is refused. */
export function useKeys({ port }: Target, keys: readonly string[]): Promise<void> {
  let next = 0;
  let open = CONNECTIONS;
  return new Promise((resolve, reject) => {
    const goOn = (connection: Connection) => {
      const key = keys[next++];
      if (key !== undefined) return connection.send(requestWith(key));
      connection.close();
      if (--open === 0) resolve();
    };
    for (let at = 0; at < CONNECTIONS; at++)
      goOn(
        new Connection({ port, endsWith: "}" }, (connection, failure) => {
          if (failure !== undefined) reject(new Error(`a key is refused: ${failure}`));
          goOn(connection);
        }),
      );
  });
}

function requestWith(key: string): Buffer {
  const lines = [
    `GET /v1/models/${CHAT_MODEL} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${key}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
}
