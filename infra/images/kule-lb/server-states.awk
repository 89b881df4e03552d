# Writes haproxy's server-state file. Its input, by the variable `part`: haproxy.cfg (configuration), what is known of the
# servers as `show servers state` prints it (known), and `<backend> <server>` for every server that has health checks
# (servers).
#
# The file replaces what the configuration says of a server's port, and of the port and address of its check: here the port
# is the configuration's, and the others are left out.

# The same text for every spelling of an address.
function plain(address,    group, left, right, all, i, missing, count) {
  address = tolower(address)
  if (address !~ /:/) return address
  all = address
  if (i = index(address, "::")) {
    left = substr(address, 1, i - 1)
    right = substr(address, i + 2)
    missing = 8 - split(left, group, ":") - split(right, group, ":")
    all = left
    for (i = 0; i < missing; i++) all = all ":0"
    all = all (right == "" ? "" : ":" right)
    sub(/^:/, "", all)
  }
  count = split(all, group, ":")
  all = ""
  for (i = 1; i <= count; i++) {
    sub(/^0+/, "", group[i])
    all = all ":" (group[i] == "" ? "0" : group[i])
  }
  return all
}
BEGIN {
  print "1"
  print "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight" \
    " srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state" \
    " srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port" \
    " srv_check_addr srv_agent_addr srv_agent_port"
}
part == "configuration" {
  if ($1 ~ /^(global|defaults|frontend|listen|backend)$/) section = $1 == "backend" ? $2 : ""
  if ($1 != "server" || section == "" || $3 !~ /:[0-9]+$/) next
  name = section " " $2
  port[name] = $3
  sub(/.*:/, "", port[name])
  place = substr($3, 1, length($3) - length(port[name]) - 1)
  sub(/^ipv[46]@/, "", place)
  gsub(/[][]/, "", place)
  address[name] = plain(place)
  tls[name] = 0
  for (i = 4; i <= NF; i++) if ($i == "ssl") tls[name] = 1
  next
}
part == "known" {
  name = $2 " " $4
  if (NF != 25 || $1 !~ /^[0-9]+$/ || !(name in port)) next
  if ($19 != port[name] || plain($5) != address[name] || name in written) next
  $21 = tls[name]
  $22 = 0
  $23 = "-"
  $24 = "-"
  $25 = 0
  print
  written[name] = 1
  next
}
# Every server that has health checks.
NF == 2 {
  name = $1 " " $2
  if (!(name in port) || name in written) next
  # Stopped; its check has failed (8, 2), with none of the successes that it needs.
  print "1", $1, "1", $2, "- 0 0 1 1 0 8 2 0 6 0 0 0 -", port[name], "-", tls[name], "0 - - 0"
  written[name] = 1
}
