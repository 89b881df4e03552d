import type { Schemas } from "@kule/contract/schemas";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal, Pages, Status, type Tone, When } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { OverviewProps } from "./props.ts";

const tones = {
  free: "idle",
  taken: "good",
  quarantined: "warning",
} as const satisfies Record<Schemas["IpPoolAllocation"]["state"], Tone>;

/** The number of addresses allocated to each organisation. */
export function Shares({ view, shares }: OverviewProps) {
  const { messages, format } = view;
  const text = messages.ipPools;
  if (shares.length === 0) return null;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.organisations}</caption>
      <thead>
        <tr>
          <th scope="col">{text.organisation}</th>
          <th scope="col" class="number">
            {text.allocated}
          </th>
          <th scope="col" class="number">
            {text.states.taken}
          </th>
          <th scope="col" class="number">
            {text.attached}
          </th>
        </tr>
      </thead>
      <tbody>
        {shares.map(({ organisation, allocated, taken, attached }) => (
          <tr>
            <th scope="row">
              <a href={`/organisations/${organisation.id}`}>{organisation.name}</a>
            </th>
            <td class="figures number" data-label={text.allocated}>
              {format.number(allocated)}
            </td>
            <td class="figures number" data-label={text.states.taken}>
              {format.number(taken)}
            </td>
            <td class="figures number" data-label={text.attached}>
              {format.number(attached)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function AllocateForm({ view, pool, organisations, form, idempotencyKey }: OverviewProps) {
  const text = view.messages.ipPools;
  const refused = refusedForm(form, "allocate");
  const problems = refused?.problems ?? noProblems;
  const none = pool.addresses.free === 0;
  return (
    <section class="panel" id="allocate" aria-labelledby="allocate-title">
      <div class="panel-head">
        <h2 id="allocate-title">{text.allocateTitle}</h2>
      </div>
      <form class="form" method="post" action={`/ip-pools/${pool.id}/allocations`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-allocate`} />
        <SelectField
          name="organisation_id"
          label={text.organisation}
          value={refused?.values.organisation_id ?? view.session?.organisation?.id ?? ""}
          options={organisations.map(({ id, name }) => ({ value: id, label: name }))}
          problems={problems}
        />
        <div class="form-row">
          <TextField
            view={view}
            name="count"
            label={text.count}
            value={refused === null ? "1" : (refused.values.count ?? "")}
            hint={text.countHint}
            problems={problems}
            mono
            maxlength={5}
            attributes={{ inputmode: "numeric" }}
          />
          <TextField
            view={view}
            name="addresses"
            label={text.exactly}
            value={refused?.values.addresses ?? ""}
            hint={text.exactlyHint}
            problems={problems}
            optional
            mono
            rows={2}
          />
        </div>
        <div class="page-acts">
          <button type="submit" class="button" data-kind="primary" disabled={none}>
            {text.allocate}
          </button>
          {none ? <p class="why">{pool.addresses.total === 0 ? text.noAddresses : text.noneFree}</p> : null}
        </div>
      </form>
    </section>
  );
}

/** Every allocated address, with a button that withdraws it. */
export function Allocations(props: OverviewProps) {
  const { view, pool, allocations } = props;
  const text = view.messages.ipPools;
  return (
    <section class="panel" id="allocations" aria-labelledby="allocations-title">
      <div class="panel-head">
        <h2 id="allocations-title">{text.allocations}</h2>
      </div>
      <p class="panel-lead">{allocations.items.length === 0 ? text.noAllocations : text.allocationsHint}</p>
      {allocations.items.length === 0 ? null : (
        <table class="list">
          <caption class="visually-hidden">{text.allocations}</caption>
          <thead>
            <tr>
              <th scope="col">{text.address}</th>
              <th scope="col">{text.organisation}</th>
              <th scope="col">{view.messages.common.status}</th>
              <td></td>
            </tr>
          </thead>
          <tbody>
            {allocations.items.map((allocation) => (
              <Allocation {...props} allocation={allocation} />
            ))}
          </tbody>
        </table>
      )}
      <Pages
        view={view}
        base={`/ip-pools/${pool.id}`}
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={allocations.next_cursor}
      />
    </section>
  );
}

function Allocation(props: OverviewProps & { readonly allocation: Schemas["IpPoolAllocation"] }) {
  const { view, pool, allocation, idempotencyKey } = props;
  const { address, organisation, state, free_after: freeAfter } = allocation;
  const { messages } = view;
  const text = messages.ipPools;
  const problems = refusedForm(props.form, address)?.problems.address;
  const why = state === "taken" ? text.withdrawTaken : null;
  return (
    <tr>
      <th scope="row" class="mono anywhere">
        {address}
      </th>
      <td data-label={text.organisation}>
        <a href={`/organisations/${organisation.id}`}>{organisation.name}</a>
      </td>
      <td data-label={messages.common.status}>
        <div>
          <Status tone={tones[state]}>{text.allocationStates[state]}</Status>
          {freeAfter === null ? null : (
            <div class="hint">
              {text.restsUntil} <When view={view} time={freeAfter} />
            </div>
          )}
        </div>
      </td>
      <td class="row-act">
        <form
          class="act"
          method="post"
          action={`/ip-pools/${pool.id}/allocations/${encodeURIComponent(address)}/withdraw`}
        >
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${address}`} />
          <button
            type="submit"
            class="button"
            aria-label={text.withdrawNamed(address)}
            disabled={why !== null}
          >
            {text.withdraw}
          </button>
          {why === null ? null : <p class="why">{why}</p>}
          {problems === undefined ? null : (
            <p class="problem" role="alert">
              {problems.join(" ")}
            </p>
          )}
        </form>
      </td>
    </tr>
  );
}
