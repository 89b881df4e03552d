// The grammar of all files: the only lines that can leave the renderer. It is written beside the renderer, not made from
// it, so that an escape that is forgotten there is found here.

import { allowed } from "../allowed-texts.ts";

const id = allowed.idPart;
const listener = `lsn_${id}`;
const server = `tgt_${id}(?:\\.srv_${id})?`;
const number = "[0-9]{1,10}";
const address = "(?:[0-9]{1,3}\\.){3}[0-9]{1,3}";
const { path, host, cookieName, expectedCodes, domainName, thumbprint, interfaceName } = allowed;

const form = (...patterns: readonly string[]): readonly RegExp[] =>
  patterns.map((pattern) => new RegExp(`^(?:${pattern})$`));

/** A text as a regular expression that matches it alone. */
const exact = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

const haproxy = form(
  // First, since most lines are these.
  `    server ${server} ${address}:[0-9]{1,5}(?: id ${number})? weight [0-9]{1,3}(?: cookie ${server})? check port [0-9]{1,5} inter [0-9]{1,3}s rise [0-9]{1,2} fall [0-9]{1,2}(?: send-proxy(?:-v2)?)?(?: check-send-proxy)?(?: backup)?`,
  "",
  "(?:global|defaults)",
  "    default-path config",
  `    setenv KULE_GENERATION ${number}`,
  "    (?:user|group) haproxy",
  "    chroot /var/lib/haproxy",
  "    log stdout format raw daemon notice",
  "    log global",
  `    maxconn ${number}`,
  "    no strict-limits",
  "    hard-stop-after 10m",
  exact("    stats socket /run/kule-lb/admin.sock mode 600 level admin expose-fd listeners"),
  exact("    server-state-file /run/kule-lb/server-state"),
  "    load-server-state-from-file global",
  exact("    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets"),
  "    ssl-default-bind-ciphers [A-Z0-9:-]+",
  "    option (?:redispatch|contstats|httpchk|tcp-check)",
  "    retries 3",
  "    http-reuse safe",
  "    timeout (?:connect|client|server|check|tunnel|queue|http-request|http-keep-alive|client-fin|server-fin) [0-9]{1,4}s",
  `    mode (?:tcp|http)`,
  `(?:frontend|backend) ${listener}`,
  `    bind 0\\.0\\.0\\.0:[0-9]{1,5}(?: ssl crt-list certificates/${listener}\\.list strict-sni alpn h2,http/1\\.1)?`,
  `    tcp-request connection reject unless \\{ src -f cidrs/${listener}\\.list \\}`,
  "    tcp-request inspect-delay 5s",
  exact("    tcp-request content accept if { req.ssl_hello_type 1 }"),
  "    tcp-request content reject",
  `${exact('    http-request return status 200 content-type text/plain lf-string "%[path,field(-1,/)].')}${thumbprint}${exact('" if { path_reg ^/\\.well-known/acme-challenge/[A-Za-z0-9_-]{1,128}$ }')}`,
  `${exact("    http-request redirect code 308 location https://%[req.hdr(host),host_only]")}(?::[0-9]{1,5})?${exact("%[pathq] if { req.hdr(host) -m found } { path_beg / }")}`,
  "    http-request deny deny_status 400",
  `    http-request deny deny_status 403 unless \\{ src -f cidrs/${listener}\\.list \\}`,
  exact("    http-request del-header ^x[-_]forwarded[-_] -m reg"),
  "    http-request del-header (?:Forwarded|X-Real-IP|Proxy)",
  exact("    http-request set-header X-Forwarded-For %[src]"),
  "    http-request set-header X-Forwarded-Proto https?",
  "    http-request set-header X-Forwarded-Port [0-9]{1,5}",
  `    default_backend ${listener}`,
  "    balance (?:roundrobin|leastconn|source)",
  "    hash-type consistent",
  `    http-check send meth GET uri '${path}' ver HTTP/1\\.1 hdr Host (?:'${host}'|%\\[bc_dst\\]) hdr User-Agent Kule-Health-Check hdr Connection close`,
  `    http-check expect status ${expectedCodes}`,
  `    cookie '${cookieName}' insert indirect nocache httponly(?: secure)?(?: maxidle [0-9]{1,7}s)?`,
);

const keepalived = form(
  "",
  "    (?:    )?\\}",
  "\\}",
  "global_defs \\{",
  `    router_id lb_${id}-[12]`,
  "    vrrp_garp_master_refresh 60",
  "    script_user root",
  "    enable_script_security",
  "vrrp_script haproxy \\{",
  exact('    script "/usr/local/lib/kule-lb/haproxy-runs"'),
  "    interval 1",
  "    timeout 2",
  "    fall 2",
  "    rise 1",
  `vrrp_instance lb_${id} \\{`,
  "    state BACKUP",
  "    nopreempt",
  `    interface ${interfaceName}`,
  "    virtual_router_id [0-9]{1,3}",
  "    priority 10[01]",
  "    advert_int 1",
  "    check_unicast_src",
  `    unicast_src_ip ${address}`,
  "    (?:unicast_peer|track_script|virtual_ipaddress|virtual_ipaddress_excluded|virtual_routes|virtual_rules) \\{",
  `        ${address}`,
  "        haproxy",
  `        ${address}/[0-9]{1,2} dev ${interfaceName}(?: scope link table 1000)?`,
  `        0\\.0\\.0\\.0/0 via ${address} dev ${interfaceName} onlink table 1000`,
  `        from ${address}/32 table 1000 priority 1000`,
);

const grammars: readonly { readonly path: RegExp; readonly forms: readonly RegExp[] }[] = [
  { path: /^haproxy\/haproxy\.cfg$/, forms: haproxy },
  { path: /^haproxy\/servers$/, forms: form(`${listener} ${server}`) },
  {
    path: new RegExp(`^haproxy/certificates/${listener}\\.list$`),
    forms: form(`certificates/cert_${id}\\.pem(?: ${domainName}){1,100}`),
  },
  {
    path: new RegExp(`^haproxy/cidrs/${listener}\\.list$`),
    forms: form(`${address}(?:/[0-9]{1,2})?`, "[0-9a-f:]{2,39}(?:/[0-9]{1,3})?"),
  },
  { path: /^keepalived\/keepalived\.conf$/, forms: keepalived },
];

/** haproxy reads lines of 2,047 characters; those of a crt-list may have 65,535. */
const maxLineLength = 2_000;
const maxListLineLength = 60_000;

/**
 * The lines as the text of a file.
 *
 * @throws Error when a line has none of the forms of its file, which also a line break inside of one is: something of a
 *   user's reached it that is no value of its place
 */
export function checkedText(path: string, lines: readonly string[]): string {
  const grammar = grammars.find((each) => each.path.test(path));
  if (grammar === undefined) throw new Error(`no grammar is known for the file ${JSON.stringify(path)}`);
  const longest = path.endsWith(".list") ? maxListLineLength : maxLineLength;
  for (const [index, line] of lines.entries())
    if (line.length > longest || !grammar.forms.some((each) => each.test(line)))
      throw new Error(`line ${index + 1} of ${path} has no form that a configuration has`);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
