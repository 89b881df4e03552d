import { reverseNameOf } from "@kule/rules/domains/reverse-pattern";
import { parseIp } from "@kule/rules/public-ips/addresses";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { AddressBar } from "./address-bar-part.tsx";
import { AllocateForm, Allocations, Shares } from "./allocations-panel.tsx";
import { overviewCalls, settingsCalls } from "./calls.ts";
import { PoolSettings } from "./change-form.tsx";
import { headedIpPools } from "./head-part.tsx";
import type { OverviewProps, PoolTabProps } from "./props.ts";
import { Ranges } from "./ranges-panel.tsx";
import { ipPools } from "./resource.ts";

/** Its utilisation, its ranges, and the addresses that are allocated. */
export function OverviewPage(props: OverviewProps) {
  const { view, pool, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={ipPools}
      item={pool}
      head={headedIpPools.headOf(view, pool, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
    >
      <Utilisation {...props} />
      <Ranges {...props} />
      <AllocateForm {...props} />
      <Allocations {...props} />
    </ResourcePage>
  );
}

/** Its name, its description and its reverse names; deletion. */
export function SettingsPage(props: PoolTabProps) {
  const { view, pool, form, banner, idempotencyKey } = props;
  const { allocated, taken, quarantined } = pool.addresses;
  const held = allocated + taken + quarantined;
  return (
    <ResourcePage
      view={view}
      resource={ipPools}
      item={pool}
      head={headedIpPools.headOf(view, pool, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(pool)}
    >
      <PoolSettings {...props} />
      <DeletePanel
        view={view}
        resource={ipPools}
        item={pool}
        why={held === 0 ? null : view.messages.ipPools.deleteInUse(view.format.number(held))}
        form={form}
        idempotencyKey={idempotencyKey}
      />
    </ResourcePage>
  );
}

function Utilisation(props: OverviewProps) {
  const { view, pool } = props;
  const text = view.messages.ipPools;
  return (
    <section class="panel" aria-labelledby="use-title">
      <div class="panel-head">
        <h2 id="use-title">{text.utilisation}</h2>
      </div>
      <p class="panel-lead">
        <span class="mono">{`${pool.gateway}/${pool.prefix_length}`}</span>
        {pool.vlan === null ? null : ` · VLAN ${pool.vlan}`}
      </p>
      {pool.reverse_name === null ? null : (
        <p class="panel-lead">
          {view.messages.ipPools.reverseName}: <span class="mono breakable">{pool.reverse_name}</span>
          <ReverseExample pattern={pool.reverse_name} address={props.allocations.items[0]?.address} />
        </p>
      )}
      {pool.addresses.total === 0 ? (
        <p class="hint">{text.noAddresses}</p>
      ) : (
        <AddressBar view={view} addresses={pool.addresses} legend />
      )}
      <Shares {...props} />
    </section>
  );
}

/** The name of an address that is allocated, as the pattern makes it. */
function ReverseExample({
  pattern,
  address,
}: {
  readonly pattern: string;
  readonly address: string | undefined;
}) {
  const parsed = address === undefined ? null : parseIp(address);
  if (parsed === null) return null;
  return (
    <>
      {" "}
      <span class="hint breakable">{`${address} → ${reverseNameOf(pattern, parsed)}`}</span>
    </>
  );
}
