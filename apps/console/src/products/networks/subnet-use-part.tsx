import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";

const order = ["used", "quarantined", "reserved", "free"] as const;
/** The same colours as a pool's addresses. */
const colours = { used: "taken", quarantined: "quarantined", reserved: "allocated", free: "free" } as const;

/** The distribution of a subnet's addresses, drawn to scale; the legend has the same figures. */
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
    // A minimum width, so that one address of thousands is visible.
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
