import { StatusShape } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { serverTone } from "../servers/status.ts";
import { fitted, type SubnetBox } from "./map-layout.ts";

const monoLetter = 7.3;
const letter = 7;

/** One subnet of the map: its tier, its use, its internet access, and its servers. */
export function MapSubnetBox({ view, box }: { readonly view: View; readonly box: SubnetBox }) {
  const { messages, format } = view;
  const text = messages.networkMap;
  const { subnet, x, y, width, height } = box;
  const left = x + 16;
  const right = x + width - 14;
  const room = width - 30;
  const tier = messages.networks.tiers[subnet.tier];
  const tagWidth = tier.length * 6.8 + 18;
  const filled = subnet.total === 0 ? 0 : Math.min(1, subnet.used / subnet.total);
  const wayOut = { gateway: text.serves, none: text.noWayOut, forbidden: text.never }[subnet.egress];
  return (
    <g class="map-subnet" data-tier={subnet.tier} data-egress={subnet.egress}>
      <rect class="map-box" x={x} y={y} width={width} height={height} rx={10} />
      {/* The tier is at the wall, where lists show their states. */}
      <rect class="map-wall" x={x + 5} y={y + 10} width={3} height={headTo - 10} rx={1.5} />
      <text class="map-strong" x={left} y={y + 24}>
        {fitted(subnet.name, room - tagWidth - 8, 7.6)}
        <title>{subnet.name}</title>
      </text>
      <rect class="map-tag" x={right - tagWidth} y={y + 10} width={tagWidth} height={20} rx={10} />
      <text class="map-tag-text" x={right - tagWidth / 2} y={y + 24} text-anchor="middle">
        {tier}
      </text>
      <text class="map-mono map-soft" x={left} y={y + 43}>
        {subnet.cidr}
      </text>
      <rect class="map-track" x={left} y={y + 53} width={room} height={5} rx={2.5} />
      {filled === 0 ? null : (
        <rect
          class="map-fill"
          data-full={filled > 0.9 ? "" : undefined}
          x={left}
          y={y + 53}
          width={Math.max(5, Math.round(room * filled))}
          height={5}
          rx={2.5}
        />
      )}
      <text class="map-small map-soft" x={left} y={y + 73}>
        {text.fill(format.number(subnet.used), format.number(subnet.total))}
      </text>
      <EgressMark egress={subnet.egress} x={left} y={y + 82} />
      <text class="map-egress" x={left + 17} y={y + 92.5}>
        {wayOut}
      </text>
      <path class="map-rule" d={`M${x + 12} ${y + headTo + 2}H${x + width - 12}`} />
      {box.servers.length === 0 ? (
        <text class="map-soft" x={left} y={y + headTo + 26}>
          {text.noServers}
        </text>
      ) : null}
      {box.servers.map(({ server, y: top, height: rowHeight }) => (
        <a class="map-server" href={`/servers/${server.id}`}>
          <rect class="map-hit" x={x + 6} y={top} width={width - 12} height={rowHeight} rx={6} />
          <g
            class="status-shape"
            data-tone={serverTone(server.status)}
            transform={`translate(${left} ${top + 9})`}
          >
            <StatusShape tone={serverTone(server.status)} />
          </g>
          <text class="map-name" x={left + 18} y={top + 18.5}>
            {fitted(server.name, room - 26 - server.address.length * monoLetter, letter)}
            <title>{`${server.name} · ${messages.servers.status[server.status] ?? server.status}`}</title>
          </text>
          <text class="map-mono" x={right} y={top + 18.5} text-anchor="end">
            {server.address}
          </text>
          {server.publicAddresses.map((address, index) => (
            <text class="map-mono map-public" x={right} y={top + 36 + index * 18} text-anchor="end">
              {fitted(`↑ ${address}`, room - 18, monoLetter)}
            </text>
          ))}
        </a>
      ))}
      {box.more === 0 ? null : (
        <text
          class="map-soft"
          x={left + 18}
          y={(box.servers.at(-1)?.y ?? y) + (box.servers.at(-1)?.height ?? 0) + 18}
        >
          {text.more(box.more)}
        </text>
      )}
    </g>
  );
}

const headTo = 104;

/** Outbound access: active, pending or none. */
function EgressMark({
  egress,
  x,
  y,
}: {
  readonly egress: SubnetBox["subnet"]["egress"];
  readonly x: number;
  readonly y: number;
}) {
  const path = {
    gateway: "M6 11V2M2 5.5 6 1.5l4 4",
    none: "M1 6h10",
    forbidden: "M1.5 5.5h9V12h-9zM3.5 5.5V3.8a2.5 2.5 0 0 1 5 0v1.7",
  }[egress];
  return <path class="map-mark" transform={`translate(${x} ${y})`} d={path} />;
}
