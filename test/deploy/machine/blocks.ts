/** Why a block of commands is not run on the machine of the handbook's test; undefined if it is. */
type Reason = string | undefined;

const DRILL = "test/chaos/backup-drill.test.ts runs it";
const CONTAINER =
  "test/deploy/container.test.ts runs it, with programs that stand in for Docker and certbot";

/** Every named block of commands in `config/operating`, by its page and its name. */
export const BLOCKS: Readonly<Record<string, Reason>> = {
  "backup.md backup": undefined,
  "backup.md compose": DRILL,
  "backup.md cron": undefined,
  "backup.md new": DRILL,
  "backup.md open": undefined,
  "backup.md redis-backup": DRILL,
  "backup.md restore": undefined,
  "backup.md swap": undefined,
  "backup.md vps": undefined,
  "cloudflare.md install": undefined,
  "container.md certificate": CONTAINER,
  "container.md env": CONTAINER,
  "container.md postgres": CONTAINER,
  "container.md redis": CONTAINER,
  "container.md restart": CONTAINER,
  "container.md token": CONTAINER,
  "every-day.md look": undefined,
  "every-day.md reload": undefined,
  "every-month.md earned": undefined,
  "every-month.md months": undefined,
  "every-month.md prove": undefined,
  "first-call.md account": undefined,
  "first-call.md call": undefined,
  "first-call.md cost": undefined,
  "first-call.md token": undefined,
  "first-customer.md credit": undefined,
  "first-customer.md import": undefined,
  "first-customer.md invite": undefined,
  "first-customer.md leave":
    "it revokes the keys of the machine; test/plugins/accounts/operator.test.ts runs the commands",
  "first-customer.md look": undefined,
  "first-customer.md suspend": undefined,
  "install.md build": "the machine has no network; test/deploy/image.test.ts installs and builds",
  "install.md certificate": undefined,
  "install.md init": undefined,
  "install.md node-24": "the machine has no network; test/deploy/image.test.ts installs it",
  "install.md packages": "the machine has no network",
  "install.md start": undefined,
  "install.md stores": undefined,
  "second-server.md compare": undefined,
  "secrets.md postgres": undefined,
  "secrets.md token": undefined,
  "sepay.md ignore": undefined,
  "sepay.md import": "the file is a bank's; test/plugins/topup/import.test.ts imports such files",
  "sepay.md test": undefined,
  "upgrade.md backup": undefined,
  "upgrade.md switch": undefined,
};
