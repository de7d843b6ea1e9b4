import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";
import { startMailServer, type TestMailServer } from "./mail-server.ts";

export const MAIL_FROM = "Tollgate <no-reply@tollgate.test>";

/** A gateway whose mail a test can read, and whose customers can claim any client address. */
export interface AccountsGateway {
  readonly gateway: TestGateway;
  readonly mailServer: TestMailServer;
  /** Restarts the gateway with different options for the plugin. */
  restart(accounts: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

export async function startAccountsGateway(
  options: GatewayOptions = {},
  accounts: Readonly<Record<string, unknown>> = {},
): Promise<AccountsGateway> {
  const mailServer = await startMailServer();
  const smtp = { host: "127.0.0.1", port: mailServer.port, from: MAIL_FROM };
  const pluginsWith = (changes: Readonly<Record<string, unknown>>) => {
    return { ...options.plugins, messages: { smtp }, accounts: changes };
  };
  const gateway = await startGateway({ ...options, plugins: pluginsWith(accounts) });
  return {
    gateway,
    mailServer,
    async restart(changes) {
      gateway.configure({ plugins: pluginsWith(changes) });
      await gateway.stop();
      await gateway.start();
    },
    async close() {
      await gateway.close();
      await mailServer.stop();
    },
  };
}
