import { TENANT_TABLES as firstTables } from "./migrations/0004-rights.ts";

/** Every table that belongs to an organisation, those of later migrations included. Each has row-level security. */
export const tenantTables = [
  ...firstTables,
  "public_ip",
  "console_session",
  "usage_segment",
  "drift",
  "firewall",
  "firewall_rule",
  "firewall_peer",
  "firewall_attachment",
  "gateway",
  "gateway_subnet",
  "port_forward",
  "address_reservation",
  "invitation",
] as const;
