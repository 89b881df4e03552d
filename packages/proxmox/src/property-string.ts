// "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=120": Proxmox returns such strings re-ordered and normalised.
// Both sides of a comparison are parsed; raw strings are never compared.

/** `defaultKey` names the part that may be written without a key, such as a disk's volume. */
export function parsePropertyString(text: string, defaultKey = ""): Map<string, string> {
  const properties = new Map<string, string>();
  for (const part of text.split(",")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    if (equals < 0) properties.set(defaultKey, part);
    else properties.set(part.slice(0, equals), part.slice(equals + 1));
  }
  return properties;
}

/** The inverse of `parsePropertyString`: the default key's value goes first and alone. */
export function renderPropertyString(properties: ReadonlyMap<string, string>, defaultKey = ""): string {
  const parts: string[] = [];
  for (const [key, value] of properties) {
    if (/[,\r\n]/.test(value)) throw new TypeError(`a comma or line break cannot stand in ${key}`);
    if (key === defaultKey) parts.unshift(value);
    else parts.push(`${key}=${value}`);
  }
  return parts.join(",");
}

const NET_MODELS = new Set([
  "virtio", "e1000", "e1000e", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "vmxnet3", "rtl8139",
  "ne2k_pci", "ne2k_isa", "i82551", "i82557b", "i82559er", "pcnet",
]); // biome-ignore format: a list of words

export type NetDevice = {
  readonly model: string;
  /** Upper case. Null when the string has none: Proxmox would make one up. */
  readonly mac: string | null;
  readonly bridge: string | null;
  readonly vlan: number | null;
  readonly firewall: boolean;
  /** Everything else that was set: mtu, rate, queues, link_down, trunks. */
  readonly extra: ReadonlyMap<string, string>;
};

export function parseNetDevice(text: string): NetDevice {
  const properties = parsePropertyString(text, "model");
  let model = properties.get("model") ?? "virtio";
  let mac = properties.get("macaddr") ?? null;
  const extra = new Map<string, string>();
  for (const [key, value] of properties) {
    if (NET_MODELS.has(key)) {
      model = key;
      mac = value;
    } else if (!["model", "macaddr", "bridge", "tag", "firewall"].includes(key)) extra.set(key, value);
  }
  const tag = properties.get("tag");
  return {
    model,
    mac: mac?.toUpperCase() ?? null,
    bridge: properties.get("bridge") ?? null,
    vlan: tag === undefined ? null : Number(tag),
    firewall: properties.get("firewall") === "1",
    extra,
  };
}

/** A device without a MAC is refused: each write would give the guest another one. */
export function renderNetDevice(device: NetDevice): string {
  if (!device.mac || !/^[0-9A-F][02468ACE](:[0-9A-F]{2}){5}$/i.test(device.mac))
    throw new TypeError(`${device.mac} is not a unicast MAC address`);
  const properties = new Map([[device.model, device.mac.toUpperCase()]]);
  if (device.bridge !== null) properties.set("bridge", device.bridge);
  if (device.vlan !== null) properties.set("tag", String(device.vlan));
  if (device.firewall) properties.set("firewall", "1");
  for (const [key, value] of device.extra) properties.set(key, value);
  return renderPropertyString(properties);
}

/**
 * Whether two property strings mean the same, whatever their order; keys are compared as written, MACs
 * without case.
 */
export function sameNetDevice(one: string, other: string): boolean {
  const [a, b] = [parseNetDevice(one), parseNetDevice(other)];
  const rest = (device: NetDevice) =>
    [...device.extra]
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(",");
  return (
    a.model === b.model &&
    a.mac === b.mac &&
    a.bridge === b.bridge &&
    a.vlan === b.vlan &&
    a.firewall === b.firewall &&
    rest(a) === rest(b)
  );
}

export function samePropertyString(one: string, other: string, defaultKey = ""): boolean {
  const sorted = (text: string) =>
    [...parsePropertyString(text, defaultKey)]
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(",");
  return sorted(one) === sorted(other);
}

export type IpConfig = { readonly address: string; readonly prefix: number; readonly gateway: string | null };

/** One address of each version at most: the keys of IPv6 have a 6 at their end. */
export function renderIpConfig(...addresses: readonly IpConfig[]): string {
  return addresses
    .flatMap(({ address, prefix, gateway }) => {
      const six = address.includes(":") ? "6" : "";
      return [`ip${six}=${address}/${prefix}`, ...(gateway === null ? [] : [`gw${six}=${gateway}`])];
    })
    .join(",");
}
