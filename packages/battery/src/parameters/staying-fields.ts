/**
 * Fields that no hypervisor receives: a whole path, or a word of it. The row fails for a field that is
 * neither here nor among those that reach it, until it is added to one of them.
 *
 * An address that is chosen from a pool or a subnet is stored as an address, so its text goes no further; a
 * pool's network and a subnet are tried with every prefix.
 */
export const staying: ReadonlySet<string> = new Set(
  `
  addIpPoolRange/cidr addIpPoolRange/start addIpPoolRange/end createPublicIp/address createGateway/address
  createReservation/address explainNetwork/from/address explainNetwork/to/address testFirewall/from/address
  testFirewall/to/address
  add changes comment enabled if_match if_none_match managed_by op remove ttl values zone_file
  action addresses ceremony certificate chain challenge code confirm_name count country current_password description direction domain_names email
  expires_in_days fingerprint firewall_id firewall_ids flow id image invitation label_selector labels language limits listen_port mode name
  network_id new_password organisation_id overlap_seconds package password port position priority private_key protocol provider
  ptr public_ip purpose quantity reason recovery_code region response restricted_to reverse_name role scopes secret segment server_id sign_in slug
  algorithm allowed_cidrs certificate_ids cookie_name expected_codes healthy_threshold host idle_timeout_seconds
  interval_seconds path proxy_protocol timeout_seconds ttl_seconds unhealthy_threshold weight
  createTarget/address createLoadBalancer/targets/-/address
  channel days first_region from_time max_at_once to_time wait_minutes
  ssh_key_ids status subnet_id subnet_ids target_port tier type version when
  `
    .trim()
    .split(/\s+/),
);
