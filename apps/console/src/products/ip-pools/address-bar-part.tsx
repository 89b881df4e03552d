import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";

/** From the unavailable addresses to the available ones. */
const order = ["taken", "allocated", "quarantined", "reserved", "free"] as const;

/** The distribution of a pool's addresses, drawn to scale; `legend` has the same figures. */
export function AddressBar(props: {
  readonly view: View;
  readonly addresses: Schemas["IpPoolAddresses"];
  readonly legend?: boolean;
}) {
  const { view, addresses } = props;
  const { ipPools } = view.messages;
  const total = Math.max(1, addresses.total);
  let drawn = 0;
  const shares = order.map((state) => {
    const width = (addresses[state] / total) * 1000;
    // A minimum width, so that one address of thousands is visible.
    const share = { state, from: drawn, width: addresses[state] === 0 ? 0 : Math.max(width, 4) };
    drawn += share.width;
    return share;
  });
  const said = order
    .map((state) => `${ipPools.states[state]} ${view.format.number(addresses[state])}`)
    .join(", ");
  return (
    <div class="stack-bar">
      <svg
        viewBox={`0 0 ${Math.max(drawn, 1000)} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={said}
      >
        {shares.map(({ state, from, width }) =>
          width === 0 ? null : <rect class={`share-${state}`} x={from} y={0} width={width} height={10} />,
        )}
      </svg>
      {props.legend === true ? (
        <ul class="legend">
          {order.map((state) => (
            <li class={`share-${state}`}>
              <span>{ipPools.states[state]}</span>
              <strong class="figures">{view.format.number(addresses[state])}</strong>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
