import type { PayloadOf, Schemas } from "@kule/contract/schemas";

export type Payload = PayloadOf<"LoadBalancerApply">;

/** A load balancer as the API shows it. */
export type Shown = {
  readonly id: string;
  readonly listeners: readonly Schemas["Listener"][];
  /** What is in each certificate that a listener names. */
  readonly certificates: ReadonlyMap<string, Schemas["Certificate"]>;
  /** Addresses that get traffic, with the server that a selector has found there. */
  readonly targets: readonly {
    readonly id: string;
    readonly server: string | null;
    readonly address: string;
  }[];
};

/** A payload in which nothing is a user's, and what stands in place of each of its texts. */
export type Twin = { readonly payload: Payload; readonly meant: ReadonlyMap<string, string> };

/**
 * The same load balancer with harmless texts, made from what the API shows and not from the payload: where a file has one
 * of them, the other load balancer's has to have the text that it stands for, and everything else has to be the same.
 */
export function plainTwin(payload: Payload, { id, listeners, certificates, targets }: Shown): Twin {
  const meant = new Map<string, string>();
  /** @param value what the user wrote, or nothing where the user wrote nothing */
  const stand = <Value extends string | null>(plain: string, value: Value): Value => {
    if (value !== null) meant.set(plain, value);
    return (value === null ? null : plain) as Value;
  };
  const sorted = listeners.toSorted((one, other) => one.port - other.port);
  const byName = targets
    .map((target) => ({
      ...target,
      name: target.server === null ? target.id : `${target.id}.${target.server}`,
    }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const certificateIds = [...certificates.keys()].sort();
  const plainCertificate = (certificate: string) => `cert_plain${certificateIds.indexOf(certificate)}`;
  for (const certificate of certificateIds) stand(plainCertificate(certificate), certificate);
  const twin: Payload = {
    ...payload,
    load_balancer: { id: stand("lb_plain", id) },
    listeners: sorted.map((listener, index) => ({
      ...listener,
      id: stand(`lsn_plain${index}`, listener.id),
      sticky:
        listener.sticky === null
          ? null
          : {
              ttl_seconds: listener.sticky.ttl_seconds ?? null,
              cookie_name: stand(`plain-cookie-${index}`, listener.sticky.cookie_name),
            },
      allowed_cidrs: listener.allowed_cidrs.map(
        (cidr, number) => `${stand(`192.0.2.${10 * index + number}`, cidr)}/32`,
      ),
      health_check: {
        ...listener.health_check,
        path: stand(`/plain-path-${index}`, listener.health_check.path),
        host: stand(`plain-host-${index}.example`, listener.health_check.host),
        expected_codes: stand(`59${index}`, listener.health_check.expected_codes),
      },
      certificates: listener.certificate_ids.map((certificate) => ({
        id: plainCertificate(certificate),
        domain_names: (certificates.get(certificate)?.domain_names ?? []).map((name, number) =>
          stand(`plain-name-${certificateIds.indexOf(certificate)}-${number}.example`, name),
        ),
      })),
    })),
    targets: byName.map((target, index) => {
      const number = String(index).padStart(3, "0");
      return {
        target_id: stand(`tgt_plain${number}`, target.id),
        selected_server_id: stand(`srv_plain${number}`, target.server),
        address: stand(`198.18.0.${index}`, target.address),
        weight: 1,
        backup: false,
        drain: false,
      };
    }),
    certificates: payload.certificates.map((certificate) => ({
      ...certificate,
      id: plainCertificate(certificate.id),
    })),
  };
  return { payload: twin, meant };
}

const plain =
  /lb_plain|(?:lsn|tgt|srv|cert)_plain\d+|\/plain-path-\d+|plain-(?:host|name)-[\d-]+\.example|plain-cookie-\d+|(?:192\.0\.2|198\.18\.0)\.\d+|\b59\d\b/g;

/** The text with what its harmless parts stand for. */
export const asMeant = (text: string, meant: Twin["meant"]): string =>
  text.replaceAll(plain, (part) => meant.get(part) ?? part);
