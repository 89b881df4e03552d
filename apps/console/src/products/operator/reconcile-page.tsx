import { canBeReconciled } from "@kule/rules/servers/reconcile";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, FormSeal, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { serverCrumbs } from "../servers/crumbs.ts";
import type { ReconcilePageProps } from "./props.ts";

/** The differences between a server's VM and its record, and the operation that corrects them. */
export function ReconcilePage({ view, server, banner, idempotencyKey }: ReconcilePageProps) {
  const { messages } = view;
  const text = messages.serverReconcile;
  const { drift } = server;
  const isPossible =
    drift === null ||
    canBeReconciled({ kind: drift.kind, fields: drift.differences.map(({ field }) => field) });
  return (
    <Shell
      view={view}
      title={text.title(server.name)}
      section="servers"
      crumbs={serverCrumbs(view, server)}
      here={text.submit}
    >
      <PageHead
        title={text.title(server.name)}
        lead={text.lead}
        api={
          <ApiDrawer view={view} calls={[{ operation: "reconcileServer", path: { server_id: server.id } }]} />
        }
      />
      <PageNotice banner={banner} />
      <section class="panel" aria-labelledby="reconcile-title">
        <div class="panel-head">
          <h2 id="reconcile-title">{text.state}</h2>
          <Status tone={drift === null ? "good" : "warning"}>
            {drift === null ? text.asWanted : messages.operator.kinds[drift.kind]}
          </Status>
        </div>
        {drift === null ? (
          <p class="panel-lead">{text.asWantedHint}</p>
        ) : (
          <>
            <p class="panel-lead">
              <When view={view} time={drift.since} />
            </p>
            <ul class="differences">
              {drift.differences.map(({ field, wanted, seen }) => (
                <li>
                  <code>{field}</code>: {messages.inventory.difference(wanted ?? "–", seen ?? "–")}
                </li>
              ))}
            </ul>
          </>
        )}
        {isPossible ? (
          <form class="form" method="post" action={`/operator/servers/${server.id}/reconcile`}>
            <FormSeal view={view} idempotencyKey={idempotencyKey} />
            <p class="hint">{text.whatHappens}</p>
            <div class="acts">
              <button type="submit" class="button" data-kind="primary">
                {text.submit}
              </button>
            </div>
          </form>
        ) : (
          <Banner kind="warning">
            {drift?.kind === "missing"
              ? text.isGone
              : drift?.differences.some(({ field }) => field === "visibility")
                ? text.isHidden
                : text.onlySize}
          </Banner>
        )}
      </section>
    </Shell>
  );
}
