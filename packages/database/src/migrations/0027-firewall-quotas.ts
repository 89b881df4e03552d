/** Most firewalls, and rules of all of them together, that an organisation may have; null is no limit. */
export const firewallQuotas = `
alter table organisation
  add column firewall_limit integer check (firewall_limit >= 0),
  add column firewall_rule_limit integer check (firewall_rule_limit >= 0);
`;
