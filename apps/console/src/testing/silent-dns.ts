import type { Settings } from "@kule/api/platform/settings";

/** Name servers and an Internet that never answer: nothing listens at these ports. */
export const silentDns: NonNullable<Settings["dns"]> = {
  path: "dns.yaml",
  file: {
    nameServers: [
      { pattern: "*.ns1.example.net", addresses: ["127.0.0.1"], port: 9 },
      { pattern: "*.ns2.example.net", addresses: ["127.0.0.1"], port: 9 },
    ],
    resolving: { start: { kind: "resolvers", addresses: ["127.0.0.1"] }, port: 9, allowPrivate: true },
    reverseZones: [],
  },
};
