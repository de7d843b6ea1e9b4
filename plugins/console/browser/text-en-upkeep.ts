/** The texts of the upkeep in English: upgrades, secrets, drift. */
export const upkeep = {
  "servers.works": "Works with the database",
  upgrade: "Upgrade, and the way back",
  "upgrade.commands": "Commands for the upgrade",
  "upgrade.back": "Commands for the way back, to {folder}",
  secrets: "Secrets",
  "secrets.about":
    "Names and ages; the gateway shows no value. The variable or file that has it stands below each name.",
  "secrets.none": "None are known here.",
  "secrets.name": "Secret",
  "secrets.used": "Used by",
  "secrets.age": "Days old",
  "secrets.both": "The old and the new one can be valid at once.",
  "secrets.one": "Only one of the two is valid at a time.",
  "secrets.how": "How to change it",
  "secrets.restart": "Takes a restart",
  "secrets.reload": "Takes a reload",
};
