import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";

const order = ["used", "quarantined", "reserved", "free"] as const;
/** Their colours are those of a pool's addresses. */
const colours = { used: "taken", quarantined: "quarantined", reserved: "allocated", free: "free" } as const;

/** How a subnet's addresses are spread, drawn to scale; the legend says the same in figures. */
export function SubnetUse({ view, usage }: { readonly view: View; readonly usage: Schemas["AddressUsage"] }) {
  const { messages, format } = view;
  const text = messages.subnet;
  const counts = {
    used: usage.addresses_used - usage.addresses_quarantined,
    quarantined: usage.addresses_quarantined,
    reserved: usage.addresses_reserved,
    free: usage.addresses_free,
  };
  const total = Math.max(1, usage.addresses_total);
  let drawn = 0;
  const shares = order.map((state) => {
    // One address of thousands is still to be seen.
    const width = counts[state] === 0 ? 0 : Math.max((counts[state] / total) * 1000, 4);
    const share = { state, from: drawn, width };
    drawn += width;
    return share;
  });
  return (
    <div class="stack-bar">
      <svg
        viewBox={`0 0 ${Math.max(drawn, 1000)} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={order.map((state) => `${text.shares[state]} ${format.number(counts[state])}`).join(", ")}
      >
        {shares.map(({ state, from, width }) =>
          width === 0 ? null : (
            <rect class={`share-${colours[state]}`} x={from} y={0} width={width} height={10} />
          ),
        )}
      </svg>
      <ul class="legend">
        {order.map((state) => (
          <li class={`share-${colours[state]}`}>
            <span>{text.shares[state]}</span>
            <strong class="figures">{format.number(counts[state])}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}
