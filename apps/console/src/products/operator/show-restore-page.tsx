import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import {
  Banner,
  EmptyState,
  FormSeal,
  PageHead,
  Pages,
  Status,
  type Tone,
  When,
} from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { RestorePageProps } from "./props.ts";

const tones = { waiting: "warning", scanned: "busy", ended: "good" } as const satisfies Record<
  Schemas["RegionRestore"]["state"],
  Tone
>;

function callsOf({ report }: RestorePageProps): readonly CalledOperation[] {
  return [
    { operation: "getRestore" },
    { operation: "listHeldVms" },
    ...report.regions
      .filter(({ state }) => state !== "ended")
      .map(
        ({ region, state }): CalledOperation => ({
          operation: "updateRegionRestore",
          path: { region },
          body: state === "waiting" ? { accept_incomplete_scan: true } : { ended: true },
        }),
      ),
  ];
}

/** What is known of the last restore, what each region waits for, and the VMs that are to be imported or removed. */
export function RestorePage(props: RestorePageProps) {
  const { view, report, held, cursor, banner } = props;
  const text = view.messages.restore;
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current="restore" />
      <PageHead title={text.title} lead={text.lead} api={<ApiDrawer view={view} calls={callsOf(props)} />} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      {report.restore === null ? (
        <EmptyState title={text.none} hint={text.noneHint} />
      ) : (
        <div class="stack">
          <Summary view={view} restore={report.restore} />
          {report.regions.map((region) => (
            <RegionPanel {...props} region={region} />
          ))}
          <HeldVms view={view} held={held} />
          <Pages
            view={view}
            base="/operator/restore"
            query={new URLSearchParams()}
            cursor={cursor}
            next={held.next_cursor}
          />
        </div>
      )}
    </Shell>
  );
}

function Summary({ view, restore }: { readonly view: View; readonly restore: Schemas["Restore"] }) {
  const text = view.messages.restore;
  const { number } = view.format;
  const figures = [
    [text.jobsEnded, restore.jobs_ended],
    [text.jobsKept, restore.jobs_kept],
    [text.sessionsEnded, restore.sessions_ended],
    [text.codesEnded, restore.codes_ended],
    [text.tokensValid, restore.tokens_valid],
  ] as const;
  return (
    <section class="panel" aria-labelledby="restore-title">
      <div class="panel-head">
        <h2 id="restore-title">{text.summary}</h2>
      </div>
      <dl class="facts" data-columns="">
        <div>
          <dt>{text.restoredAt}</dt>
          <dd>
            <When view={view} time={restore.restored_at} />
          </dd>
        </div>
        <div>
          <dt>{text.moment}</dt>
          <dd>{restore.moment === null ? text.unknown : <When view={view} time={restore.moment} />}</dd>
        </div>
        {figures.map(([name, figure]) => (
          <div>
            <dt>{name}</dt>
            <dd class="figures">{number(figure)}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">{text.tokensHint}</p>
    </section>
  );
}

function RegionPanel(props: RestorePageProps & { readonly region: Schemas["RegionRestore"] }) {
  const { view, region } = props;
  const text = view.messages.restore;
  const { number } = view.format;
  const id = `restore-${region.region}`;
  const figures = [
    [text.heldVms, region.held_vms],
    [text.missing, region.missing_servers],
    [text.changed, region.changed_servers],
    [text.inBuffer, region.servers_in_removal_buffer],
    [text.toDestroy, region.servers_to_destroy],
  ] as const;
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{region.region}</h2>
        <Status tone={tones[region.state]}>{text.states[region.state]}</Status>
      </div>
      <p class="panel-lead">{text.stateHints[region.state]}</p>
      {region.last_scan_trouble === null ? null : (
        <p class="anywhere">
          {text.trouble} <span class="mono">{region.last_scan_trouble}</span>
        </p>
      )}
      <dl class="facts" data-columns="">
        {figures.map(([name, figure]) => (
          <div>
            <dt>{name}</dt>
            <dd class="figures">{number(figure)}</dd>
          </div>
        ))}
        {region.unknown_networks.length === 0 ? null : (
          <div>
            <dt>{text.unknownNetworks}</dt>
            <dd class="mono anywhere">{region.unknown_networks.join(" ")}</dd>
          </div>
        )}
      </dl>
      <GoOn {...props} />
    </section>
  );
}

/** The way on from the state that the region is in. */
function GoOn({
  view,
  region,
  idempotencyKey,
}: RestorePageProps & { readonly region: Schemas["RegionRestore"] }) {
  const text = view.messages.restore;
  if (region.state === "ended" || (region.state === "waiting" && region.accepts_incomplete_scan)) return null;
  const ends = region.state === "scanned";
  const button = ends ? text.end : text.accept;
  return (
    <div class="panel-foot">
      <a class="button push" href={`/operator/drift?region=${region.region}`}>
        {text.differences}
      </a>
      <details class="confirm" id={`go-on-${region.region}`}>
        <summary
          class="button"
          aria-label={ends ? text.endNamed(region.region) : text.acceptNamed(region.region)}
        >
          {button}
        </summary>
        <form method="post" action={`/operator/restore/${region.region}`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${region.region}`} />
          <ul class="hint">
            {(ends ? text.endMeans : text.acceptMeans).map((line) => (
              <li>{line}</li>
            ))}
          </ul>
          <button type="submit" class="button" data-kind="danger" name="what" value={ends ? "end" : "accept"}>
            {button}
          </button>
        </form>
      </details>
    </div>
  );
}

function HeldVms({ view, held }: Pick<RestorePageProps, "view" | "held">) {
  const text = view.messages.restore;
  if (held.items.length === 0) return <EmptyState title={text.nothingHeld} hint={text.nothingHeldHint} />;
  return (
    <section aria-labelledby="held-title" class="stack">
      <h2 id="held-title">{text.heldVms}</h2>
      <p class="hint">{text.heldHint}</p>
      <table class="list">
        <caption class="visually-hidden">{text.heldVms}</caption>
        <thead>
          <tr>
            <th scope="col">{view.messages.operator.vm}</th>
            <th scope="col">{view.messages.common.region}</th>
            <th scope="col">{text.whose}</th>
            <th scope="col">{text.uses}</th>
            <td></td>
          </tr>
        </thead>
        <tbody>
          {held.items.map((vm) => (
            <HeldVmRow view={view} vm={vm} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function HeldVmRow({ view, vm }: { readonly view: View; readonly vm: Schemas["HeldVm"] }) {
  const text = view.messages.restore;
  const { operator } = view.messages;
  return (
    <tr id={vm.id} data-tone={vm.disputed.length > 0 ? "bad" : "warning"}>
      <th scope="row">
        <span class="figures">{vm.vmid}</span>
        {vm.name === null ? null : <small class="vm-name mono">{vm.name}</small>}
      </th>
      <td data-label={view.messages.common.region}>
        <div>
          {vm.region}
          {vm.node === null ? null : <div class="hint">{vm.node}</div>}
        </div>
      </td>
      <td data-label={text.whose}>
        <div class="anywhere">
          {vm.organisation_name ?? vm.organisation_id ?? text.nobody}
          {vm.server_id === null ? null : <div class="hint mono">{vm.server_id}</div>}
        </div>
      </td>
      <td data-label={text.uses}>
        <ul class="differences">
          {vm.held.map(({ kind, value }) => (
            <li>
              {text.kinds[kind]} <code>{value}</code>
            </li>
          ))}
          {vm.disputed.map(({ kind, value, holder }) => (
            <li>
              {text.kinds[kind]} <code>{value}</code>, {text.disputed(holder ?? "")}
            </li>
          ))}
        </ul>
      </td>
      <td class="row-act">
        {vm.is_known ? (
          <span class="hint">{text.known}</span>
        ) : (
          <a
            class="button"
            href={`/operator/import?${new URLSearchParams({ region: vm.region, vmid: String(vm.vmid) })}`}
            aria-label={operator.importNamed(String(vm.vmid))}
          >
            {operator.importIt}
          </a>
        )}
      </td>
    </tr>
  );
}
