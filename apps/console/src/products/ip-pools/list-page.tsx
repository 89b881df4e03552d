import type { Schemas } from "@kule/contract/schemas";
import { type FieldProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Banner, EmptyState, FormSeal, PageHead, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

type Pool = Schemas["IpPool"];

export type IpPoolsPageProps = {
  readonly view: View;
  readonly pools: Schemas["IpPoolList"];
  /** By the pool's id. */
  readonly ranges: ReadonlyMap<string, readonly Schemas["IpPoolRange"][]>;
  readonly shares: ReadonlyMap<string, Schemas["IpPoolUtilisation"]["organisations"]>;
  readonly organisations: readonly Schemas["Organisation"][];
  readonly regions: readonly string[];
  readonly cursor: string | undefined;
  /** `pool`, or a pool's id and the form on it that the values are of. */
  readonly form: {
    readonly of: string;
    readonly values: Readonly<Record<string, string>>;
    readonly problems: FieldProblems;
  } | null;
  readonly banner: { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;
  readonly idempotencyKey: string;
};

export function IpPoolsPage(props: IpPoolsPageProps) {
  const { view, pools, banner } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.ipPools.title} section="ipPools">
      <PageHead title={messages.ipPools.title} lead={messages.ipPools.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      {pools.items.length === 0 ? (
        <EmptyState title={messages.ipPools.empty} hint={messages.ipPools.emptyHint} />
      ) : (
        pools.items.map((pool) => <PoolPanel {...props} pool={pool} />)
      )}
      <Pages
        view={view}
        base="/ip-pools"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={pools.next_cursor}
      />
      <CreatePool {...props} />
    </Shell>
  );
}

function PoolPanel(props: IpPoolsPageProps & { readonly pool: Pool }) {
  const { view, pool } = props;
  const { messages, format } = view;
  const text = messages.ipPools;
  const { addresses } = pool;
  const usable = addresses.total - addresses.reserved;
  const given = addresses.allocated + addresses.taken;
  return (
    <section class="panel" id={pool.id} aria-labelledby={`title-${pool.id}`}>
      <div class="panel-head">
        <h2 id={`title-${pool.id}`}>{pool.name}</h2>
        <span class="tag">{`IPv${pool.version}`}</span>
      </div>
      <p class="panel-lead">
        {pool.region} · <span class="mono">{`${pool.gateway}/${pool.prefix_length}`}</span>
        {pool.vlan === null ? null : ` · VLAN ${pool.vlan}`}
        {pool.description === "" ? null : ` · ${pool.description}`}
      </p>
      <p>
        <label for={`use-${pool.id}`}>{text.given(format.number(given), format.number(usable))}</label>
        <progress id={`use-${pool.id}`} max={Math.max(1, usable)} value={given} />
      </p>
      <dl class="facts">
        {(["free", "allocated", "taken", "quarantined", "reserved"] as const).map((state) => (
          <div>
            <dt>{text.states[state]}</dt>
            <dd class="figures">{format.number(addresses[state])}</dd>
          </div>
        ))}
      </dl>
      <Shares {...props} />
      <Ranges {...props} />
      <Allocate {...props} />
    </section>
  );
}

function Shares({ view, pool, shares }: IpPoolsPageProps & { readonly pool: Pool }) {
  const { messages, format } = view;
  const text = messages.ipPools;
  const own = shares.get(pool.id) ?? [];
  if (own.length === 0) return <p class="hint">{text.noShares}</p>;
  return (
    <table class="list">
      <caption class="visually-hidden">{`${text.organisations}: ${pool.name}`}</caption>
      <thead>
        <tr>
          <th scope="col">{text.organisation}</th>
          <th scope="col">{text.states.allocated}</th>
          <th scope="col">{text.states.taken}</th>
          <th scope="col">{text.attached}</th>
        </tr>
      </thead>
      <tbody>
        {own.map(({ organisation, allocated, taken, attached }) => (
          <tr>
            <th scope="row">{organisation.name}</th>
            <td class="figures" data-label={text.states.allocated}>
              {format.number(allocated)}
            </td>
            <td class="figures" data-label={text.states.taken}>
              {format.number(taken)}
            </td>
            <td class="figures" data-label={text.attached}>
              {format.number(attached)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Ranges(props: IpPoolsPageProps & { readonly pool: Pool }) {
  const { view, pool, idempotencyKey } = props;
  const { messages, format } = view;
  const text = messages.ipPools;
  const own = props.ranges.get(pool.id) ?? [];
  const form = props.form?.of === `${pool.id} range` ? props.form : null;
  return (
    <>
      <h3>{text.ranges}</h3>
      {own.length === 0 ? <p class="hint">{text.noRanges}</p> : null}
      {own.map((range) => (
        <form class="page-acts" method="post" action={`/ip-pools/${pool.id}/ranges/${range.id}/remove`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${range.id}`} />
          <span class="mono">{`${range.start} – ${range.end}`}</span>
          <span class="hint">{text.addresses(format.number(range.size))}</span>
          <button type="submit" class="button" aria-label={text.removeNamed(range.start)}>
            {text.remove}
          </button>
        </form>
      ))}
      <details class="add-inline" open={form !== null}>
        <summary>{text.addRange}</summary>
        <form class="form" method="post" action={`/ip-pools/${pool.id}/ranges`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${pool.id}-range`} />
          <div class="field" data-invalid={form?.problems.range === undefined ? undefined : "true"}>
            <label for={`range-${pool.id}`}>{text.range}</label>
            <input
              id={`range-${pool.id}`}
              name="range"
              class="mono"
              required
              maxlength={100}
              autocomplete="off"
              value={form?.values.range ?? ""}
              placeholder="203.0.113.0/25"
            />
            <Problem name="range" problems={form?.problems.range} />
            <p class="hint">{text.rangeHint}</p>
          </div>
          <button type="submit" class="button">
            {text.addRange}
          </button>
        </form>
      </details>
    </>
  );
}

function Allocate(props: IpPoolsPageProps & { readonly pool: Pool }) {
  const { view, pool, organisations, idempotencyKey } = props;
  const text = view.messages.ipPools;
  const form = props.form?.of === `${pool.id} allocate` ? props.form : null;
  return (
    <details class="add-inline" open={form !== null}>
      <summary>{text.allocate}</summary>
      <form class="form" method="post" action={`/ip-pools/${pool.id}/allocations`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${pool.id}-allocate`} />
        <div class="field">
          <label for={`organisation-${pool.id}`}>{text.organisation}</label>
          <select id={`organisation-${pool.id}`} name="organisation_id">
            {organisations.map(({ id, name }) => (
              <option value={id} selected={form?.values.organisation_id === id}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div class="field" data-invalid={form?.problems.count === undefined ? undefined : "true"}>
          <label for={`count-${pool.id}`}>{text.count}</label>
          <input
            id={`count-${pool.id}`}
            name="count"
            type="number"
            min="1"
            max="65536"
            required
            value={form?.values.count ?? "1"}
          />
          <Problem name="count" problems={form?.problems.count} />
        </div>
        <button type="submit" class="button">
          {text.allocate}
        </button>
      </form>
    </details>
  );
}

function CreatePool(props: IpPoolsPageProps) {
  const { view, regions, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.ipPools;
  const form = props.form?.of === "pool" ? props.form : null;
  const problems = form?.problems ?? {};
  const value = (name: string) => form?.values[name] ?? "";
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{text.create}</h2>
      </div>
      <form class="form" method="post" action="/ip-pools">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="field">
          <label for="field-region">{messages.common.region}</label>
          <select id="field-region" name="region">
            {regions.map((slug) => (
              <option value={slug} selected={value("region") === slug}>
                {slug}
              </option>
            ))}
          </select>
        </div>
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={value("name")}
          problems={problems}
          required
          maxlength={100}
        />
        <TextField
          view={view}
          name="gateway"
          label={text.gateway}
          value={value("gateway")}
          hint={text.gatewayHint}
          problems={problems}
          required
          mono
          maxlength={45}
        />
        <TextField
          view={view}
          name="prefix_length"
          label={text.prefixLength}
          value={value("prefix_length") || "24"}
          problems={problems}
          required
          mono
          maxlength={3}
        />
        <TextField
          view={view}
          name="vlan"
          label="VLAN"
          value={value("vlan")}
          hint={text.vlanHint}
          problems={problems}
          optional
          mono
          maxlength={4}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.create}
        </button>
      </form>
    </section>
  );
}
