import type { View } from "../../layout/view.ts";
import { fitted, layoutMap, type MapLayout, mapWidths } from "./map-layout.ts";
import type { MapModel } from "./map-model.ts";
import { MapSubnetBox } from "./map-subnet-part.tsx";

/**
 * A network as a drawing: its servers, its gateway, and the line that isolates it from other networks. Drawn twice,
 * since letters that fit a desktop are too small on a phone; the stylesheet shows the one that fits. The tables below
 * it have the same content.
 */
export function NetworkMap({ view, model }: { readonly view: View; readonly model: MapModel }) {
  return (
    <div class="network-map">
      <Drawing view={view} model={model} size="wide" />
      <Drawing view={view} model={model} size="narrow" />
    </div>
  );
}

function Drawing({
  view,
  model,
  size,
}: {
  readonly view: View;
  readonly model: MapModel;
  readonly size: keyof typeof mapWidths;
}) {
  const text = view.messages.networkMap;
  const layout = layoutMap(model, mapWidths[size]);
  const servers = model.subnets.reduce((sum, subnet) => sum + subnet.servers.length, 0);
  const { frame, router } = layout;
  const middle = layout.width / 2;
  return (
    <svg
      class="map"
      data-size={size}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      aria-labelledby={`map-title-${size}`}
      aria-describedby={`map-desc-${size}`}
    >
      <title id={`map-title-${size}`}>{text.summary(model.name, model.cidr)}</title>
      <desc id={`map-desc-${size}`}>
        {text.described(
          model.subnets.length,
          servers,
          model.gateway === null ? text.withoutGateway : text.withGateway,
        )}
      </desc>
      <rect class="map-frame" x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx={14} />
      <text class="map-title" x={frame.x + 16} y={frame.y + (layout.isNarrow ? 44 : 30)}>
        {fitted(model.name, layout.isNarrow ? 130 : 300, 8.2)}
      </text>
      <text
        class="map-mono map-soft"
        x={layout.isNarrow ? frame.x + frame.width - 16 : frame.x + 16}
        y={frame.y + (layout.isNarrow ? 44 : 50)}
        text-anchor={layout.isNarrow ? "end" : "start"}
      >
        {model.cidr}
      </text>
      <InternetConnection view={view} model={model} layout={layout} />
      <g class="map-wires">
        {layout.subnets
          .toSorted((one, other) => Number(isOut(one.subnet.egress)) - Number(isOut(other.subnet.egress)))
          .map(({ subnet, wire }) => (
            <path d={wire} data-out={model.gateway !== null && isOut(subnet.egress) ? "" : undefined} />
          ))}
      </g>
      <g class="map-router">
        <rect x={router.x} y={router.y} width={router.width} height={router.height} rx={router.height / 2} />
        <text x={middle} y={router.y + 19.5} text-anchor="middle">
          {model.subnets.length === 0 ? text.noSubnets : text.router}
        </text>
      </g>
      {layout.subnets.map((box) => (
        <MapSubnetBox view={view} box={box} />
      ))}
      <Others view={view} layout={layout} />
    </svg>
  );
}

const isOut = (egress: string) => egress === "gateway";

/** The internet, and the gateway if there is one. */
function InternetConnection({
  view,
  model,
  layout,
}: {
  readonly view: View;
  readonly model: MapModel;
  readonly layout: MapLayout;
}) {
  const text = view.messages.networkMap;
  const { internet, gateway, router } = layout;
  const middle = layout.width / 2;
  const cut = (internet.y + internet.height + layout.frame.y) / 2;
  const publicCount = model.subnets
    .flatMap(({ servers }) => servers)
    .reduce((sum, { publicAddresses }) => sum + publicAddresses.length, 0);
  return (
    <>
      <g class="map-internet" data-cut={model.gateway === null && publicCount === 0 ? "" : undefined}>
        <rect x={internet.x} y={internet.y} width={internet.width} height={internet.height} rx={18} />
        <text x={middle} y={internet.y + 23} text-anchor="middle">
          {text.internet}
        </text>
      </g>
      {publicCount === 0 ? null : (
        <text
          class="map-public"
          x={middle - 20}
          y={model.gateway === null ? cut + 4 : internet.y + internet.height + 17}
          text-anchor="end"
        >
          {text.publicWays(publicCount)}
        </text>
      )}
      {model.gateway === null ? (
        <g class="map-cut">
          <path class="map-cut-line" d={`M${middle} ${internet.y + internet.height}V${layout.frame.y}`} />
          <circle cx={middle} cy={cut} r={11} />
          <path class="map-cross" d={`M${middle - 4.5} ${cut - 4.5}l9 9m0-9-9 9`} />
          <text x={middle + 20} y={cut + 4}>
            {layout.isNarrow ? text.noGatewayShort : text.noGateway}
          </text>
        </g>
      ) : (
        <g class="map-gateway">
          <path
            class="map-way"
            d={`M${middle} ${internet.y + internet.height}V${gateway.y}M${middle} ${gateway.y + gateway.height}V${router.y}`}
          />
          <a href={`/gateways/${model.gateway.id}`}>
            <rect x={gateway.x} y={gateway.y} width={gateway.width} height={gateway.height} rx={8} />
            <text x={middle} y={gateway.y + 18} text-anchor="middle">
              {fitted(`${text.gateway} ${model.gateway.name}`, gateway.width - 20, 7.4)}
            </text>
            <text class="map-mono" x={middle} y={gateway.y + 34} text-anchor="middle">
              {model.gateway.address}
            </text>
          </a>
        </g>
      )}
    </>
  );
}

/** The organisation's other networks, beyond the isolation line. */
function Others({ view, layout }: { readonly view: View; readonly layout: MapLayout }) {
  const text = view.messages.networkMap;
  if (layout.others.length === 0) return null;
  const { frame } = layout;
  const line = frame.y + frame.height + 20;
  const last = layout.others.at(-1);
  return (
    <g class="map-others">
      <path class="map-cut-line" d={`M${frame.x + 24} ${frame.y + frame.height}V${layout.othersTop + 18}`} />
      <g class="map-cut">
        <circle cx={frame.x + 24} cy={line} r={10} />
        <path class="map-cross" d={`M${frame.x + 20} ${line - 4}l8 8m0-8-8 8`} />
        <text x={frame.x + 44} y={line + 4}>
          {text.others}
        </text>
      </g>
      {layout.others.map(({ other, x, y, width, height }) => (
        <a href={`/networks/${other.id}`}>
          <rect class="map-other" x={x} y={y} width={width} height={height} rx={10} />
          <text class="map-strong" x={x + 14} y={y + 19}>
            {fitted(other.name, width - 28, 7.2)}
          </text>
          <text class="map-mono map-soft" x={x + 14} y={y + 35}>
            {other.cidr}
          </text>
        </a>
      ))}
      {layout.moreOthers === 0 || last === undefined ? null : (
        <text class="map-soft" x={frame.x + 14} y={last.y + last.height + 18}>
          {text.moreOthers(layout.moreOthers)}
        </text>
      )}
    </g>
  );
}
