import type { SettingsProps } from "./props.ts";

/** Why a firewall cannot be deleted now, as far as the page knows without a request. */
export function whyNotDelete({ view, firewall, others }: SettingsProps): string | null {
  const { messages } = view;
  if (firewall.attachments.length > 0) return messages.firewalls.deleteAttached;
  const isNamed = others.some(({ rules }) =>
    rules.some(({ peers }) => peers.some(({ firewall_id }) => firewall_id === firewall.id)),
  );
  return isNamed ? messages.firewalls.deleteNamed : null;
}
