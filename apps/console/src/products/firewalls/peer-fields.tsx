import { Problem } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { DraftButton } from "./draft-part.tsx";
import type { Places } from "./places.ts";
import type { RulesPageProps } from "./props.ts";
import type { DraftPeer, DraftRule } from "./rule-draft.ts";

/** The peers of a rule: one line for each, with a text field where the kind needs one. */
export function PeerFields(props: RulesPageProps & { readonly row: number; readonly rule: DraftRule }) {
  const { view, row, rule, problems, focus } = props;
  const text = view.messages.firewalls;
  return (
    <>
      {rule.peers.map((peer, place) => {
        const name = `rule-${row}-peer-${place}`;
        const wrong = problems[name];
        return (
          <div class="peer-line" data-invalid={wrong === undefined ? undefined : "true"}>
            <select
              id={name}
              name={name}
              aria-label={`${text.editor.rule(row + 1)}: ${text.peers} ${place + 1}`}
              aria-invalid={wrong === undefined ? undefined : "true"}
              aria-describedby={wrong === undefined ? undefined : `${name}-problem`}
              autofocus={focus === name}
            >
              <PeerOptions view={view} places={props.places} peer={peer} />
            </select>
            {/* Hidden by the stylesheet while the chosen kind needs no text. */}
            <input
              class="mono peer-text"
              type="text"
              name={`${name}-text`}
              value={peer.text}
              placeholder={peer.kind === "labels" ? "role=web" : "192.0.2.0/24"}
              maxlength={1000}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              aria-label={`${text.editor.rule(row + 1)}: ${text.peer.text} ${place + 1}`}
            />
            {rule.peers.length === 1 ? null : (
              <DraftButton
                {...props}
                intent={`remove-peer:${row}:${place}`}
                class="move"
                label={text.editor.removePeer(place + 1, row + 1)}
              >
                <Icon name="cross" size={13} />
              </DraftButton>
            )}
            <Problem name={name} problems={wrong} />
          </div>
        );
      })}
      {rule.peers.length >= 20 ? null : (
        <DraftButton {...props} intent={`add-peer:${row}`} class="add-peer">
          <Icon name="plus" size={13} />
          {text.editor.addPeer}
        </DraftButton>
      )}
    </>
  );
}

function PeerOptions({
  view,
  places,
  peer,
}: {
  readonly view: View;
  readonly places: Places;
  readonly peer: DraftPeer;
}) {
  const text = view.messages.firewalls.peer;
  const known = [
    "any",
    "cidr",
    "labels",
    ...places.networks.flatMap(({ id, subnets }) => [id, ...subnets.map((subnet) => subnet.id)]),
    ...places.firewalls.map(({ id }) => id),
  ];
  const option = (value: string, label: string) => (
    <option value={value} selected={peer.kind === value}>
      {label}
    </option>
  );
  return (
    <>
      {option("any", text.any)}
      {option("cidr", text.cidr)}
      {option("labels", text.labels)}
      {known.includes(peer.kind) ? null : option(peer.kind, text.gone(peer.kind))}
      {places.networks.length === 0 ? null : (
        <>
          <optgroup label={text.subnets}>
            {places.networks.flatMap((network) =>
              network.subnets.map(({ id, name, cidr }) => option(id, `${network.name}/${name} · ${cidr}`)),
            )}
          </optgroup>
          <optgroup label={text.networks}>
            {places.networks.map(({ id, name, cidr }) => option(id, `${name} · ${cidr}`))}
          </optgroup>
        </>
      )}
      {places.firewalls.length === 0 ? null : (
        <optgroup label={text.firewalls}>{places.firewalls.map(({ id, name }) => option(id, name))}</optgroup>
      )}
    </>
  );
}
