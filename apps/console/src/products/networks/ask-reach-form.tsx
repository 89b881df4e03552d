import { Problem } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { Places } from "../firewalls/places.ts";
import type { Question, Values } from "./reach-question.ts";

/** `web-1 → 198.51.100.7, TCP 443`. */
export function questionText(view: View, places: Pick<Places, "servers">, values: Values): string {
  const end = (chosen = "", address = "") =>
    places.servers.find(({ id }) => id === chosen)?.name ?? (address === "" ? chosen : address);
  const what = values.protocol === "icmp" ? "ICMP" : `${values.protocol?.toUpperCase()} ${values.port}`;
  return view.messages.reach.question(
    end(values.from, values.from_address),
    end(values.to, values.to_address),
    what,
  );
}

/** The form of a reachability check. Its question is in the address, so that it can be shared and repeated. */
export function ReachForm(props: {
  readonly view: View;
  readonly places: Pick<Places, "servers">;
  readonly action: string;
  /** The panel that is rendered again with the answer. */
  readonly id: string;
  readonly asked: Question;
}) {
  const { view, places, action, id, asked } = props;
  const text = view.messages.reach;
  const { values, problems } = asked;
  const first = places.servers[0]?.id ?? "address";
  return (
    <form
      class="reach-form"
      method="get"
      action={`${action}#${id}`}
      hx-get={action}
      hx-target={`#${id}`}
      hx-select={`#${id}`}
      hx-swap="outerMorph"
      hx-replace-url="true"
    >
      <End {...props} end="from" fallback={first} />
      <End {...props} end="to" fallback={places.servers[1]?.id ?? first} />
      <div class="field">
        <label for={`${id}-protocol`}>{text.protocol}</label>
        <select id={`${id}-protocol`} name="protocol">
          {(["tcp", "udp", "icmp"] as const).map((protocol) => (
            <option value={protocol} selected={values.protocol === protocol}>
              {protocol.toUpperCase()}
            </option>
          ))}
        </select>
      </div>
      <div class="field reach-port" data-invalid={problems.port === undefined ? undefined : "true"}>
        <label for={`${id}-port`}>{text.port}</label>
        <input
          id={`${id}-port`}
          class="mono"
          type="text"
          inputmode="numeric"
          name="port"
          value={values.port ?? "22"}
          maxlength={5}
          autocomplete="off"
          aria-invalid={problems.port === undefined ? undefined : "true"}
          aria-describedby={problems.port === undefined ? undefined : `${id}-port-problem`}
        />
        <Problem name={`${id}-port`} problems={problems.port} />
      </div>
      <button type="submit" class="button" data-kind="primary">
        {text.ask}
      </button>
    </form>
  );
}

function End(
  props: Parameters<typeof ReachForm>[0] & { readonly end: "from" | "to"; readonly fallback: string },
) {
  const { view, places, id, asked, end, fallback } = props;
  const text = view.messages.reach;
  const problems = asked.problems[end];
  const chosen = asked.values[end] ?? fallback;
  const name = `${id}-${end}`;
  return (
    <div class="field reach-end" data-invalid={problems === undefined ? undefined : "true"}>
      <label for={name}>{text[end]}</label>
      <select
        id={name}
        name={end}
        aria-invalid={problems === undefined ? undefined : "true"}
        aria-describedby={problems === undefined ? undefined : `${name}-problem`}
      >
        {places.servers.length === 0 ? null : (
          <optgroup label={text.server}>
            {places.servers.map((server) => (
              <option value={server.id} selected={chosen === server.id}>
                {server.name}
              </option>
            ))}
          </optgroup>
        )}
        <option value="address" selected={chosen === "address"}>
          {text.address}
        </option>
      </select>
      <input
        class="mono reach-address"
        type="text"
        name={`${end}_address`}
        value={asked.values[`${end}_address`] ?? ""}
        placeholder="198.51.100.7"
        maxlength={45}
        autocomplete="off"
        spellcheck={false}
        aria-label={text.addressOf[end]}
      />
      <Problem name={name} problems={problems} />
    </div>
  );
}
