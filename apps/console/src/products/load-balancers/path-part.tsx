import { StatusShape } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { fitted } from "../networks/map-layout.ts";
import { layoutPath, type PathLayout, pathWidths } from "./path-layout.ts";
import type { PathModel } from "./path-model.ts";

const letter = 7.2;
const monoLetter = 7.3;

/**
 * The way of the traffic as a drawing: from outside to the address, the listeners and the targets. Drawn twice, since
 * letters that fit a desktop are too small on a phone; the stylesheet shows the one that fits. The tables below it have the
 * same content.
 */
export function PathMap({ view, model }: { readonly view: View; readonly model: PathModel }) {
  return (
    <div class="network-map">
      <Drawing view={view} model={model} size="wide" />
      <Drawing view={view} model={model} size="narrow" />
    </div>
  );
}

type Props = { readonly view: View; readonly model: PathModel; readonly layout: PathLayout };

function Drawing({
  view,
  model,
  size,
}: {
  readonly view: View;
  readonly model: PathModel;
  readonly size: keyof typeof pathWidths;
}) {
  const text = view.messages.loadBalancers.path;
  const layout = layoutPath(model, pathWidths[size]);
  const parts = { view, model, layout };
  return (
    <svg
      class="map path-map"
      data-size={size}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      aria-labelledby={`map-title-${size}`}
      aria-describedby={`map-desc-${size}`}
    >
      <title id={`map-title-${size}`}>{text.summary(model.name)}</title>
      <desc id={`map-desc-${size}`}>
        {text.described(
          model.isPublic ? view.messages.networkMap.internet : text.network,
          model.listeners.length,
          model.targets.length,
          model.targets.filter(({ status }) => status === "healthy").length,
        )}
      </desc>
      <Wires {...parts} />
      <Entrance {...parts} />
      <ListenerBoxes {...parts} />
      <TargetBoxes {...parts} />
    </svg>
  );
}

function Wires({ layout }: Props) {
  return (
    <g class="path-wires">
      {layout.listeners.map(({ item, wire, wireOut }) => (
        <>
          <path d={wire} data-on={item.isOpen ? "" : undefined} />
          {wireOut === null || layout.targets.length === 0 ? null : (
            <path d={wireOut} data-on={item.isOpen ? "" : undefined} />
          )}
        </>
      ))}
      {layout.listeners.length === 0
        ? null
        : byHealth(layout).map(({ item, wire }) => (
            <path d={wire} data-on={item.status === "healthy" ? "" : undefined} />
          ))}
    </g>
  );
}

/** The line that traffic flows through is above the others. */
const byHealth = ({ targets }: PathLayout) =>
  targets.toSorted(
    (one, other) => Number(one.item.status === "healthy") - Number(other.item.status === "healthy"),
  );

/** Where clients come from, and the load balancer with its address. */
function Entrance({ view, model, layout }: Props) {
  const { outside, balancer, way } = layout;
  const text = view.messages.loadBalancers.path;
  const middle = balancer.x + balancer.width / 2;
  return (
    <>
      <path class="map-way" d={way} />
      <g class="map-internet" data-cut={model.isPublic ? undefined : ""}>
        <rect x={outside.x} y={outside.y} width={outside.width} height={outside.height} rx={18} />
        <text x={outside.x + outside.width / 2} y={outside.y + 23} text-anchor="middle">
          {model.isPublic ? view.messages.networkMap.internet : text.network}
        </text>
      </g>
      <g class="path-balancer" data-tone={model.tone}>
        <rect x={balancer.x} y={balancer.y} width={balancer.width} height={balancer.height} rx={10} />
        <text x={middle} y={balancer.y + 23} text-anchor="middle">
          {fitted(model.name, balancer.width - 24, letter)}
        </text>
        <text class="map-mono" x={middle} y={balancer.y + 42} text-anchor="middle">
          {model.address ?? text.noAddress}
        </text>
        <text class="map-small" x={middle} y={balancer.y + 60} text-anchor="middle">
          {text.machines(model.machines)}
        </text>
      </g>
    </>
  );
}

function ListenerBoxes({ view, layout }: Props) {
  const text = view.messages.loadBalancers.path;
  const { noListeners, moreListeners } = layout;
  return (
    <>
      {layout.listeners.map(({ item, x, y, width, height }) => (
        <g class="path-listener">
          <rect class="map-box" x={x} y={y} width={width} height={height} rx={8} />
          <text class="map-strong" x={x + 14} y={y + 19}>
            {fitted(item.name, width - 28, letter)}
          </text>
          <text class="map-small map-soft" x={x + 14} y={y + 35}>
            {fitted(item.isRedirect ? text.redirects : text.toPort(String(item.targetPort)), width - 28, 6.4)}
          </text>
        </g>
      ))}
      {noListeners === null ? null : <Missing box={noListeners} text={text.noListeners} />}
      {moreListeners === null ? null : (
        <text class="map-soft" x={moreListeners.x} y={moreListeners.y}>
          {view.messages.networkMap.more(moreListeners.count)}
        </text>
      )}
    </>
  );
}

function TargetBoxes({ view, layout }: Props) {
  const { loadBalancers, networkMap } = view.messages;
  const { noTargets, moreTargets } = layout;
  return (
    <>
      {layout.targets.map(({ item, x, y, width, height }) => {
        const drawing = (
          <>
            <rect class="map-box map-hit" x={x} y={y} width={width} height={height} rx={8} />
            <g class="status-shape" data-tone={item.tone} transform={`translate(${x + 12} ${y + 13})`}>
              <StatusShape tone={item.tone} />
            </g>
            <text class="map-name" x={x + 30} y={y + 22.5}>
              {fitted(item.name, Math.max(0, width - 48 - item.address.length * monoLetter), letter)}
              <title>{`${item.name} ${item.address} · ${loadBalancers.targets.states[item.status]}`}</title>
            </text>
            <text
              class="map-mono"
              x={item.name === "" ? x + 30 : x + width - 12}
              y={y + 22.5}
              text-anchor={item.name === "" ? "start" : "end"}
            >
              {item.address}
            </text>
          </>
        );
        return item.serverId === null ? (
          <g class="path-target">{drawing}</g>
        ) : (
          <a class="path-target" href={`/servers/${item.serverId}`}>
            {drawing}
          </a>
        );
      })}
      {noTargets === null ? null : <Missing box={noTargets} text={loadBalancers.path.noTargets} />}
      {moreTargets === null ? null : (
        <text class="map-soft" x={moreTargets.x} y={moreTargets.y}>
          {networkMap.more(moreTargets.count)}
        </text>
      )}
    </>
  );
}

/** The place of what does not exist yet. */
function Missing({ box, text }: { readonly box: PathLayout["balancer"]; readonly text: string }) {
  const { x, y, width, height } = box;
  return (
    <g>
      <rect class="map-other" x={x} y={y} width={width} height={height} rx={8} />
      <text class="map-soft" x={x + width / 2} y={y + height / 2 + 4.5} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}
