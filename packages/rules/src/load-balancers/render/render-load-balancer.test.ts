import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Listener, LoadBalancerIntent } from "../intent.ts";
import {
  anyIntent,
  hostileText,
  sampleIntent,
  sampleListener,
  sampleMachine,
  sampleTarget,
} from "../testing/sample-intents.ts";
import { haproxyLines } from "./haproxy-configuration.ts";
import { checkedText } from "./line-forms.ts";
import { type RenderedLoadBalancer, renderLoadBalancer } from "./render-load-balancer.ts";
import { namedServers, readServerName, serverName } from "./server-lines.ts";

const contentOf = ({ files }: RenderedLoadBalancer, path: string): string =>
  files.find((file) => file.path === path)?.content ?? "";
const configuration = (intent: Partial<LoadBalancerIntent>): string =>
  contentOf(renderLoadBalancer({ ...sampleIntent, ...intent }, sampleMachine), "haproxy/haproxy.cfg");
const withListener = (listener: Partial<Listener>): string =>
  configuration({ listeners: [{ ...sampleListener, ...listener }] });
const https: Listener = {
  ...sampleListener,
  id: "lsn_tls",
  protocol: "https",
  port: 443,
  certificates: [{ id: "cert_a", domainNames: ["example.com", "*.example.com"] }],
};
const httpCheck = {
  ...sampleListener.healthCheck,
  protocol: "http",
  path: "/health",
  host: "www.example.com",
  expectedCodes: "200-299,301",
} as const;

describe("the configuration of a load balancer", () => {
  test("is the same text whatever order listeners and targets are in", () => {
    fc.assert(
      fc.property(anyIntent, (intent) => {
        const turned = {
          ...intent,
          listeners: intent.listeners.toReversed(),
          targets: intent.targets.toReversed(),
        };
        expect(renderLoadBalancer(turned, sampleMachine)).toEqual(renderLoadBalancer(intent, sampleMachine));
      }),
      { numRuns: 30 },
    );
  });

  test("names the generation, the package's connections and where the machine's script finds haproxy", () => {
    const text = configuration({});
    for (const line of [
      "setenv KULE_GENERATION 7",
      "maxconn 20000",
      "no strict-limits",
      "hard-stop-after 10m",
      "stats socket /run/kule-lb/admin.sock mode 600 level admin",
      "server-state-file /run/kule-lb/server-state",
      "load-server-state-from-file global",
    ])
      expect(text).toContain(`    ${line}`);
  });

  test("comes with units, validation, check and the list of what must be checked before it gets traffic", () => {
    const rendered = renderLoadBalancer(
      { ...sampleIntent, listeners: [sampleListener, { ...sampleListener, id: "lsn_x", port: 81 }] },
      sampleMachine,
    );
    expect(rendered.units).toEqual([{ name: "haproxy.service", change: "reload" }]);
    expect(rendered.validate).toEqual(["haproxy", "-c", "-f", "haproxy/haproxy.cfg"]);
    expect(rendered.check).toEqual(["/usr/local/sbin/kule-lb", "check", "7"]);
    expect(contentOf(rendered, "haproxy/servers")).toBe("lsn_web tgt_one\nlsn_x tgt_one\n");
    expect(rendered.files.every(({ mode }) => mode === 0o600)).toBe(true);
  });

  test("has the algorithm, and ids of source_hash stay when another target goes", () => {
    expect(configuration({ algorithm: "least_connections" })).toContain("balance leastconn");
    const targets = ["tgt_a", "tgt_b", "tgt_c"].map((targetId) => ({ ...sampleTarget, targetId }));
    const lineOf = (name: string, list: typeof targets) =>
      configuration({ algorithm: "source_hash", targets: list })
        .split("\n")
        .find((line) => line.includes(`server ${name} `));
    expect(configuration({ algorithm: "source_hash" })).toContain("balance source\n    hash-type consistent");
    expect(lineOf("tgt_c", targets)).toMatch(/ id \d+ /);
    expect(lineOf("tgt_c", targets.slice(1))).toBe(lineOf("tgt_c", targets));
  });

  test("spreads source_hash over as many places whatever the weights are, so that memory has a limit", () => {
    const weightsOf = (weights: readonly number[]) =>
      [
        ...configuration({
          algorithm: "source_hash",
          targets: weights.map((weight, index) => ({ ...sampleTarget, targetId: `tgt_${index}`, weight })),
        }).matchAll(/ weight (\d+) /g),
      ].map(([, weight]) => Number(weight));
    expect(weightsOf([256, 128, 1])).toEqual([16, 8, 1]);
    expect(weightsOf([1, 1])).toEqual([16, 16]);
    expect(weightsOf([2, 0])).toEqual([16, 0]);
  });

  test("answers with certificates by name, and only with TLS 1.2 and later", () => {
    const rendered = renderLoadBalancer({ ...sampleIntent, listeners: [https] }, sampleMachine);
    expect(contentOf(rendered, "haproxy/certificates/lsn_tls.list")).toBe(
      "certificates/cert_a.pem example.com *.example.com\n",
    );
    expect(rendered.certificateIds).toEqual(["cert_a"]);
    const text = contentOf(rendered, "haproxy/haproxy.cfg");
    expect(text).toContain("ssl crt-list certificates/lsn_tls.list strict-sni alpn h2,http/1.1");
    expect(text).toContain("ssl-min-ver TLSv1.2");
  });

  test("takes nothing from a client about where it comes from", () => {
    const lines = configuration({ listeners: [https] }).split("\n");
    const at = (part: string) => lines.findIndex((line) => line.includes(part));
    expect(at("del-header ^x[-_]forwarded[-_] -m reg")).toBeGreaterThan(0);
    expect(at("set-header X-Forwarded-For %[src]")).toBeGreaterThan(at("del-header ^x[-_]forwarded[-_]"));
    expect(at("set-header X-Forwarded-Proto https")).toBeGreaterThan(0);
  });

  test("redirects to the https listener's port and has no backend for it", () => {
    const redirecting = { ...sampleListener, redirectToHttps: true };
    const text = configuration({ listeners: [redirecting, { ...https, port: 8443 }] });
    expect(text).toContain("location https://%[req.hdr(host),host_only]:8443%[pathq]");
    expect(text).not.toContain("backend lsn_web");
    expect(configuration({ listeners: [redirecting, https] })).toContain("host_only]%[pathq]");
  });

  test("answers HTTP-01 before it redirects, on port 80 alone", () => {
    const acmeThumbprint = "a".repeat(43);
    const redirecting = { ...sampleListener, redirectToHttps: true };
    const text = configuration({ listeners: [redirecting, https], acmeThumbprint });
    expect(text.indexOf(`.${acmeThumbprint}"`)).toBeGreaterThan(0);
    expect(text.indexOf(`.${acmeThumbprint}"`)).toBeLessThan(text.indexOf("http-request redirect"));
    expect(configuration({ listeners: [{ ...sampleListener, port: 8080 }], acmeThumbprint })).not.toContain(
      acmeThumbprint,
    );
  });

  test("keeps a client at its target by a cookie, except at a drained one", () => {
    const listeners = [{ ...sampleListener, sticky: { cookieName: "SERVERID", ttlSeconds: 600 } }];
    const sticky = configuration({ listeners });
    expect(sticky).toContain("    cookie 'SERVERID' insert indirect nocache httponly maxidle 600s\n");
    expect(sticky).toContain("weight 1 cookie tgt_one check");
    const drained = configuration({ listeners, targets: [{ ...sampleTarget, drain: true, weight: 9 }] });
    expect(drained).toContain("weight 0 check");
    expect(drained).not.toContain("cookie tgt_one");
  });

  test("tells targets the client's address where they expect it", () => {
    expect(withListener({ proxyProtocol: "v2" })).toContain(" send-proxy-v2 check-send-proxy");
    expect(withListener({ proxyProtocol: "v1" })).toContain(" send-proxy check-send-proxy");
    const elsewhere = withListener({
      proxyProtocol: "v1",
      healthCheck: { ...sampleListener.healthCheck, port: 9000 },
    });
    expect(elsewhere).toMatch(/check port 9000 .* send-proxy\n/);
  });

  test("checks targets as it is wanted", () => {
    const text = withListener({ healthCheck: httpCheck });
    expect(text).toContain("http-check send meth GET uri '/health' ver HTTP/1.1 hdr Host 'www.example.com' ");
    expect(text).toContain("http-check expect status 200-299,301");
    expect(text).toContain("check port 8080 inter 10s rise 3 fall 2");
    expect(withListener({})).toContain("option tcp-check");
  });

  test("refuses clients of other addresses before it reads what they send", () => {
    const rendered = renderLoadBalancer(
      { ...sampleIntent, listeners: [{ ...sampleListener, allowedCidrs: ["192.0.2.0/24", "192.0.2.7/32"] }] },
      sampleMachine,
    );
    expect(contentOf(rendered, "haproxy/cidrs/lsn_web.list")).toBe("192.0.2.0/24\n192.0.2.7\n");
    expect(contentOf(rendered, "haproxy/haproxy.cfg")).toContain(
      "tcp-request connection reject unless { src -f cidrs/lsn_web.list }",
    );
  });

  test("lets a CA ask where others are refused", () => {
    const listeners = [{ ...sampleListener, allowedCidrs: ["192.0.2.0/24"] }];
    const text = configuration({ listeners, acmeThumbprint: "a".repeat(43) });
    expect(text).not.toContain("tcp-request connection reject");
    expect(text).toMatch(
      /http-request return .*\n {4}http-request deny deny_status 403 unless \{ src -f cidrs/,
    );
  });

  test("of two machines has one with the address, and none takes it from the other", () => {
    const highAvailability = {
      virtualAddress: "10.0.0.4",
      prefixLength: 24,
      vrid: 17,
      publicAddress: {
        address: "203.0.113.5",
        prefixLength: 24,
        gateway: "203.0.113.1",
        interfaceName: "eth1",
      },
    };
    const rendered = renderLoadBalancer({ ...sampleIntent, highAvailability }, sampleMachine);
    const text = contentOf(rendered, "keepalived/keepalived.conf");
    for (const line of [
      "state BACKUP",
      "nopreempt",
      "advert_int 1",
      "virtual_router_id 17",
      "check_unicast_src",
      "unicast_src_ip 10.0.0.2",
      "    10.0.0.3",
      "    haproxy",
      "    10.0.0.4/24 dev eth0",
      "    203.0.113.5/32 dev eth1",
    ])
      expect(text).toContain(`    ${line}\n`);
    expect(rendered.units.map(({ name }) => name)).toEqual(["haproxy.service", "keepalived.service"]);
  });

  const publicAddress = {
    address: "203.0.113.133",
    prefixLength: 25,
    gateway: "203.0.113.129",
    interfaceName: "eth1",
  };
  const keepalivedOf = (more: Partial<typeof publicAddress> | { gateway: null } | null) => {
    const highAvailability = {
      virtualAddress: "10.0.0.4",
      prefixLength: 24,
      vrid: 17,
      publicAddress: more === null ? null : { ...publicAddress, ...more },
    };
    const rendered = renderLoadBalancer({ ...sampleIntent, highAvailability }, sampleMachine);
    return contentOf(rendered, "keepalived/keepalived.conf");
  };

  test("of two machines answers from the public address by its gateway, only where the address is", () => {
    expect(keepalivedOf({})).toContain(
      [
        "    virtual_ipaddress_excluded {",
        "        203.0.113.133/32 dev eth1",
        "    }",
        "    virtual_routes {",
        "        203.0.113.128/25 dev eth1 scope link table 1000",
        "        0.0.0.0/0 via 203.0.113.129 dev eth1 onlink table 1000",
        "    }",
        "    virtual_rules {",
        "        from 203.0.113.133/32 table 1000 priority 1000",
        "    }",
        "}",
        "",
      ].join("\n"),
    );
    expect(keepalivedOf({ prefixLength: 32 })).not.toContain("scope link");
    for (const none of [keepalivedOf({ gateway: null }), keepalivedOf(null)])
      expect(none).not.toMatch(/virtual_routes|virtual_rules/);
  });

  test("of two machines has the same adverts with and without a public address", () => {
    const adverts = /^ {4}virtual_ipaddress \{\n.*\n {4}\}$/m;
    expect(adverts.exec(keepalivedOf({}))?.[0]).toBe(adverts.exec(keepalivedOf(null))?.[0]);
  });

  test.each([
    ["address", "2001:db8::1"],
    ["address", "203.0.113.5 dev eth9"],
    ["gateway", "203.0.113.1\n        0.0.0.0/0 via 6.6.6.6"],
    ["interfaceName", "eth1 onlink"],
    ["interfaceName", "eth1\n    notify /bin/sh"],
    ["prefixLength", 33],
    ["prefixLength", 24.5],
  ])("with a public address whose %s is %j is no configuration at all", (name, value) => {
    expect(() => keepalivedOf({ [name]: value })).toThrow("cannot be rendered");
  });

  test("names a selected server so that it can be read again", () => {
    const selected = { targetId: "tgt_a1", selectedServerId: "srv_b2" };
    expect(readServerName(serverName({ ...sampleTarget, ...selected }))).toEqual(selected);
    expect(readServerName("tgt_a1")).toEqual({ targetId: "tgt_a1", selectedServerId: null });
    expect(readServerName("tgt_a1.srv_b2\n")).toBe(null);
    expect(readServerName("BACKEND")).toBe(null);
  });
});

/** A place of every text of an intent. */
const places: { readonly [name: string]: (text: string) => LoadBalancerIntent } = {
  path: (path) => intentOf({ healthCheck: { ...httpCheck, path } }),
  host: (host) => intentOf({ healthCheck: { ...httpCheck, host } }),
  expectedCodes: (expectedCodes) => intentOf({ healthCheck: { ...httpCheck, expectedCodes } }),
  cookieName: (cookieName) => intentOf({ sticky: { cookieName, ttlSeconds: null } }),
  listenerId: (id) => intentOf({ id }),
  allowedCidr: (cidr) => intentOf({ allowedCidrs: [cidr] }),
  certificateId: (id) => intentOf({ ...https, certificates: [{ id, domainNames: ["a.example"] }] }),
  domainName: (name) => intentOf({ ...https, certificates: [{ id: "cert_a", domainNames: [name] }] }),
  protocol: (protocol) => intentOf({ protocol: protocol as Listener["protocol"] }),
  targetId: (targetId) => ({ ...sampleIntent, targets: [{ ...sampleTarget, targetId }] }),
  serverId: (selectedServerId) => ({ ...sampleIntent, targets: [{ ...sampleTarget, selectedServerId }] }),
  address: (address) => ({ ...sampleIntent, targets: [{ ...sampleTarget, address }] }),
  thumbprint: (acmeThumbprint) => ({ ...sampleIntent, acmeThumbprint }),
  id: (id) => ({
    ...sampleIntent,
    id,
    highAvailability: { virtualAddress: "10.0.0.4", prefixLength: 24, vrid: 1, publicAddress: null },
  }),
};
const intentOf = (listener: Partial<Listener>): LoadBalancerIntent => ({
  ...sampleIntent,
  listeners: [{ ...sampleListener, ...listener }],
});
const harmless: { readonly [name: string]: string } = {
  path: "/",
  host: "a",
  expectedCodes: "200",
  cookieName: "C",
  listenerId: "lsn_a",
  allowedCidr: "10.0.0.0/8",
  certificateId: "cert_b",
  domainName: "b.example",
  protocol: "http",
  targetId: "tgt_b",
  serverId: "srv_b",
  address: "10.0.0.9",
  thumbprint: "b".repeat(43),
  id: "lb_b",
};
const countLines = ({ files }: RenderedLoadBalancer) =>
  files.map(({ content }) => content.split("\n").length);

describe.each(Object.entries(places))("a hostile text as %s", (name, place) => {
  test("gives a configuration no line, or no configuration at all", () => {
    const expected = countLines(renderLoadBalancer(place(harmless[name] ?? ""), sampleMachine));
    fc.assert(
      fc.property(hostileText, (text) => {
        let rendered: RenderedLoadBalancer;
        try {
          rendered = renderLoadBalancer(place(text), sampleMachine);
        } catch (error) {
          // The error is logged, so it has nothing of the text.
          expect(String(error).length).toBeLessThan(120);
          return;
        }
        expect(countLines(rendered)).toEqual(expected);
        expect(text).toMatch(/^[!-~]+$/);
        expect(text).not.toMatch(/['"#\\]/);
      }),
      { numRuns: 60 },
    );
  });

  test("is found in the lines too, should a check before them be missing", () => {
    // An unknown protocol chooses other lines and is in none of them; texts of other files are not in this one.
    if (["protocol", "allowedCidr", "certificateId", "domainName", "id"].includes(name)) return;
    fc.assert(
      fc.property(hostileText, (text) => {
        fc.pre(!/^[!-~]+$/.test(text) || /['"#\\]/.test(text));
        const intent = place(text);
        const lines = haproxyLines(intent, sampleMachine, namedServers(intent));
        expect(() => checkedText("haproxy/haproxy.cfg", lines)).toThrow("has no form");
      }),
      { numRuns: 40 },
    );
  });
});

test.each([
  ["haproxy/haproxy.cfg", "    stats socket ipv4@0.0.0.0:9999 level admin"],
  ["haproxy/haproxy.cfg", "    mode http\n    mode tcp"],
  ["haproxy/haproxy.cfg", "    http-check send meth GET uri '/a' hdr X 'b' ver HTTP/1.1 hdr Host 'a'"],
  [
    "haproxy/haproxy.cfg",
    "    server tgt_a 10.0.0.1:80 weight 1 check port 80 inter 1s rise 1 fall 1 agent-check",
  ],
  ["haproxy/servers", "lsn_a tgt_a extra"],
  ["haproxy/cidrs/lsn_a.list", "-f /etc/shadow"],
  ["haproxy/certificates/lsn_a.list", "certificates/../../secret.pem a.example"],
  ["keepalived/keepalived.conf", "    notify /bin/sh"],
  ["keepalived/keepalived.conf", "        0.0.0.0/0 via 203.0.113.1 dev eth1"],
  ["keepalived/keepalived.conf", "        from 10.0.0.0/8 table 1000 priority 1000"],
  ["etc/passwd", ""],
])("a line of %s that no renderer writes leaves none: %j", (path, line) => {
  expect(() => checkedText(path, [line])).toThrow(/has no form|no grammar/);
});
