/** English texts of actions on several resources at once. */
export const selectionEn = {
  selection: {
    choose: (name: string) => `Choose ${name}`,
    chooseAll: "Choose all on this page",
    act: "What to do with the chosen ones",
    go: "Continue",
    hint: "Nothing happens before you have seen the list.",
    none: "Nothing was chosen",
    noneHint: "Tick boxes in the list, then choose an action.",
    back: "Back to the list",
    will: "Affected",
    typeCount: (count: string) => `Type ${count}, how many they are, to confirm`,
    mistyped: (wanted: string) => `Type ${wanted} to confirm.`,
    cannot: "Not now",
    result: "Requested",
    asked: "accepted",
    refused: "refused",
    unknown: "no answer",
    unknownHint: "The API did not answer for these. Continuing asks again and does nothing twice.",
    askAgain: "Ask again",
    nothingPossible: "None of the chosen ones can be asked for this now.",
  },
  selectionKinds: {
    servers: {
      count: (items: number) => `${items} ${items === 1 ? "server" : "servers"}`,
      acts: {
        start: "Start",
        shutdown: "Shut down",
        reboot: "Reboot",
        stop: "Stop",
        delete: "Delete",
        restore: "Call off the deletion",
      },
      titles: {
        start: (servers: string) => `Start ${servers}?`,
        shutdown: (servers: string) => `Shut down ${servers}?`,
        reboot: (servers: string) => `Reboot ${servers}?`,
        stop: (servers: string) => `Stop ${servers}?`,
        delete: (servers: string) => `Delete ${servers}?`,
        restore: (servers: string) => `Call off the deletion of ${servers}?`,
      },
      leads: {
        start: "They are switched on.",
        shutdown: "Each guest is asked to shut down. One that does not answer stays as it is.",
        reboot: "Each guest is asked to reboot.",
        stop: "They are switched off at once. What the guests have not written is lost.",
        delete:
          "They are stopped and kept for the removal buffer. Until it ends the deletion can be cancelled.",
        restore: "They leave the removal buffer.",
      },
    },
    networks: {
      count: (items: number) => `${items} ${items === 1 ? "network" : "networks"}`,
      acts: { delete: "Delete" },
      titles: { delete: (networks: string) => `Delete ${networks}?` },
      leads: { delete: "Empty ones can be deleted. Their addresses can be used again at once." },
    },
    gateways: {
      count: (items: number) => `${items} ${items === 1 ? "gateway" : "gateways"}`,
      acts: { delete: "Delete" },
      titles: { delete: (gateways: string) => `Delete ${gateways}?` },
      leads: { delete: "The subnets that they serve lose internet access." },
    },
    loadBalancers: {
      count: (items: number) => `${items} ${items === 1 ? "load balancer" : "load balancers"}`,
      acts: { apply: "Re-apply", delete: "Delete" },
      titles: {
        apply: (loadBalancers: string) => `Re-apply ${loadBalancers}?`,
        delete: (loadBalancers: string) => `Delete ${loadBalancers}?`,
      },
      leads: {
        apply: "The whole configuration is brought to their machines again.",
        delete: "Clients are not served at their addresses any more. Their servers are destroyed at once.",
      },
    },
    firewalls: {
      count: (items: number) => `${items} ${items === 1 ? "firewall" : "firewalls"}`,
      acts: { apply: "Re-apply", delete: "Delete" },
      titles: {
        apply: (firewalls: string) => `Re-apply the rules of ${firewalls}?`,
        delete: (firewalls: string) => `Delete ${firewalls}?`,
      },
      leads: {
        apply: "Rules are re-applied to all attached servers.",
        delete: "The rules are deleted for good.",
      },
    },
    publicIps: {
      count: (items: number) => `${items} ${items === 1 ? "address" : "addresses"}`,
      acts: { detach: "Detach", release: "Release" },
      titles: {
        detach: (addresses: string) => `Detach ${addresses}?`,
        release: (addresses: string) => `Release ${addresses}?`,
      },
      leads: {
        detach: "Their servers are not reached at them any more. The addresses stay yours.",
        release:
          "They are quarantined for a while, and stay allocated to your organisation; you may get other ones next time.",
      },
    },
    domains: {
      count: (items: number) => `${items} ${items === 1 ? "domain" : "domains"}`,
      acts: { apply: "Re-apply", delete: "Delete" },
      titles: {
        apply: (domains: string) => `Re-apply ${domains}?`,
        delete: (domains: string) => `Delete ${domains}?`,
      },
      leads: {
        apply: "Each is compared with its name servers. What was changed there without Kule is put right.",
        delete:
          "They stay served until the removal buffer ends, and until then the deletion can be cancelled. Those that are not proven are deleted at once.",
      },
    },
    certificates: {
      count: (items: number) => `${items} ${items === 1 ? "certificate" : "certificates"}`,
      acts: { delete: "Delete" },
      titles: { delete: (certificates: string) => `Delete ${certificates}?` },
      leads: { delete: "Their private keys are deleted with them. This cannot be undone." },
    },
    sshKeys: {
      count: (items: number) => `${items} ${items === 1 ? "key" : "keys"}`,
      acts: { delete: "Delete" },
      titles: { delete: (keys: string) => `Delete ${keys}?` },
      leads: { delete: "Servers that have them keep them. New servers cannot choose them any more." },
    },
  },
};
