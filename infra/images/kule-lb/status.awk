# Makes one JSON object of the facts that `kule-lb status` has collected, of `most` bytes at most; what is left out is
# counted.
#
# Every text is cut and has only visible ASCII without quotes and backslashes; every number has at most 16 digits. Targets
# that are not up come first, so that those left out of a long answer are healthy ones.

function text(value, length_limit) {
  gsub(/["\\]/, "?", value)
  gsub(/[^ -~]/, "?", value)
  return "\"" substr(value, 1, length_limit) "\""
}
function number(value) {
  return value ~ /^(0|[1-9][0-9]*)$/ && length(value) <= 16 ? value : "null"
}
# One line of a CSV table into the array field.
function cut(line,    rest, i, value) {
  if (line !~ /"/) return split(line, field, ",")
  split("", field)
  rest = line ","
  for (i = 0; rest != "" && i < 200; ) {
    if (match(rest, /^"([^"]|"")*",/)) {
      value = substr(rest, 2, RLENGTH - 3)
      gsub(/""/, "\"", value)
    } else if (match(rest, /^[^,]*,/)) value = substr(rest, 1, RLENGTH - 1)
    else break
    rest = substr(rest, RLENGTH + 1)
    field[++i] = value
  }
  return i
}
function cell(name) {
  return name in column ? field[column[name]] : ""
}
function counters() {
  return "\"connections_total\":" number(cell("conn_tot")) ",\"requests_total\":" number(cell("req_tot")) \
    ",\"errors_total\":" number(cell("hrsp_5xx")) \
    ",\"bytes_in\":" number(cell("bin")) ",\"bytes_out\":" number(cell("bout"))
}
function listener() {
  return "{\"id\":" text(cell("pxname"), 64) ",\"status\":" text(cell("status"), 16) \
    ",\"connections\":" number(cell("scur")) ",\"connections_per_second\":" number(cell("conn_rate")) \
    ",\"requests_per_second\":" number(cell("req_rate")) "," counters() \
    ",\"connections_denied\":" number(cell("dcon")) ",\"requests_denied\":" number(cell("dreq")) \
    ",\"request_errors\":" number(cell("ereq")) ",\"responses_1xx\":" number(cell("hrsp_1xx")) \
    ",\"responses_2xx\":" number(cell("hrsp_2xx")) ",\"responses_3xx\":" number(cell("hrsp_3xx")) \
    ",\"responses_4xx\":" number(cell("hrsp_4xx")) ",\"responses_5xx\":" number(cell("hrsp_5xx")) "}"
}
function target(    is_up) {
  is_up = cell("status") == "UP"
  return "{\"listener\":" text(cell("pxname"), 64) ",\"server\":" text(cell("svname"), 128) \
    ",\"status\":" text(cell("status"), 16) ",\"check_status\":" text(cell("check_status"), 16) \
    ",\"check_code\":" number(cell("check_code")) ",\"changed_seconds\":" number(cell("lastchg")) \
    ",\"connections\":" number(cell("scur")) (is_up ? "" : ",\"last_check\":" text(cell("last_chk"), 80)) "}"
}
/^%(processes|former [0-9]+|worker)$/ && part != "worker" {
  part = substr($1, 2)
  pid = $2
  is_table = 0
  next
}
part == "" {
  if ($1 == "boot") boot = $2
  if ($1 == "role") role = $2
  next
}
part == "processes" {
  if ($1 == "#") is_old = $2 == "old"
  if ($2 == "master" && match($0, /\[failed: [0-9]+\]/)) failed = substr($0, RSTART + 9, RLENGTH - 10)
  if ($2 == "worker" && is_old) old++
  next
}
/^# pxname,/ {
  split("", column)
  for (i = cut(substr($0, 3)); i > 0; i--) if (field[i] != "") column[field[i]] = i
  is_table = 1
  next
}
!is_table {
  if (part == "worker" && index($0, "KULE_GENERATION=") == 1) generation = substr($0, 17)
  if (part == "worker" && $1 == "Start_time_sec:") started = $2
  if (part == "worker" && $1 == "CurrConns:") connections = $2
  if (part == "worker" && $1 == "Maxconn:") maximum = $2
  if (part == "worker" && $1 == "Pid:") worker = $2
  next
}
# A line that was cut off has too few columns.
cut($0) < 80 { next }
part == "former" && cell("svname") == "FRONTEND" {
  former[++formers] = "{\"worker_pid\":" number(pid) ",\"listener\":" text(cell("pxname"), 64) "," counters() "}"
  former_pid[formers] = pid
  next
}
part == "worker" && cell("svname") == "FRONTEND" { listeners[++listener_count] = listener(); next }
part == "worker" && cell("status") == "UP" { up[++up_count] = target(); next }
part == "worker" { other[++other_count] = target() }

# Prints an element of a list when there is room for it, and for what follows the lists.
function give(value) {
  if (bytes + length(value) + 200 > most) { omitted++; return }
  bytes += length(value) + 1
  printf "%s%s", separator, value
  separator = ","
}
function begin(name) {
  printf "%s\"%s\":[", name == "listeners" ? "" : "],", name
  bytes += length(name) + 6
  separator = ""
  omitted = 0
}
END {
  head = "{\"boot_id\":" text(boot, 36) ",\"generation\":" number(generation) ",\"worker_pid\":" number(worker) \
    ",\"worker_started\":" number(started) ",\"old_workers\":" number(old + 0) \
    ",\"failed_reloads\":" number(failed) ",\"connections\":" number(connections) \
    ",\"most_connections\":" number(maximum) ",\"role\":" (role == "" ? "null" : text(role, 8)) ","
  printf "%s", head
  bytes = length(head)
  begin("listeners")
  for (i = 1; i <= listener_count; i++) give(listeners[i])
  omitted_listeners = omitted
  begin("former")
  for (i = 1; i <= formers; i++) if (former_pid[i] != worker) give(former[i])
  omitted_listeners += omitted
  begin("targets")
  for (i = 1; i <= other_count; i++) give(other[i])
  for (i = 1; i <= up_count; i++) give(up[i])
  printf "],\"omitted_listeners\":%d,\"omitted_targets\":%d}\n", omitted_listeners, omitted
}
