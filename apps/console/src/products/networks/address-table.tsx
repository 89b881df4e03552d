import type { Schemas } from "@kule/contract/schemas";
import { Pages, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { SubnetOverviewProps } from "./props.ts";

export const addressStates = ["used", "reserved", "quarantined", "platform"] as const;

export const addressTones = {
  used: "good",
  reserved: "idle",
  quarantined: "warning",
  platform: "idle",
} as const satisfies Record<Schemas["AddressState"], Tone>;

/** Every address that is not free, in numerical order, with what uses it. */
export function AddressTable(props: SubnetOverviewProps) {
  const { view, subnet, addresses, state, cursor } = props;
  const { messages } = view;
  const text = messages.subnet;
  const base = `/networks/${subnet.network_id}/subnets/${subnet.id}`;
  const query = new URLSearchParams(state === "" ? {} : { state });
  return (
    <>
      {addresses.items.length === 0 ? (
        <p class="hint">{text.noneInState}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.list}</caption>
          <thead>
            <tr>
              <th scope="col">{text.address}</th>
              <th scope="col">{text.state}</th>
              <th scope="col">{text.holder}</th>
              <th scope="col">{text.since}</th>
            </tr>
          </thead>
          <tbody>
            {addresses.items.map((item) => (
              <tr data-tone={addressTones[item.state]}>
                <th scope="row" class="mono">
                  {item.address}
                </th>
                <td data-label={text.state}>
                  <Status tone={addressTones[item.state]}>{text.states[item.state]}</Status>
                </td>
                <td data-label={text.holder}>
                  <Holder view={view} item={item} />
                </td>
                <td data-label={text.since}>
                  <When view={view} time={item.since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Pages view={view} base={base} query={query} cursor={cursor} next={addresses.next_cursor} />
    </>
  );
}

function Holder({ view, item }: { readonly view: View; readonly item: Schemas["SubnetAddress"] }) {
  const text = view.messages.subnet;
  const { server, reservation, role, free_after: freeAfter } = item;
  return (
    <div>
      {server === null ? null : <a href={`/servers/${server.id}`}>{server.name}</a>}
      {role === null ? null : text.roles[role]}
      {item.state === "quarantined" && reservation === null ? text.nobody : null}
      {reservation === null ? null : <div class="hint">{text.keptBy(reservation.name)}</div>}
      {freeAfter === null ? null : (
        <div class="hint">
          {text.restsUntil} <When view={view} time={freeAfter} />
        </div>
      )}
    </div>
  );
}
