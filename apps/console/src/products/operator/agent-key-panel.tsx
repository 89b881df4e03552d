import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

type Props = {
  readonly view: View;
  readonly region: Schemas["Region"];
  readonly tokens: readonly Schemas["Token"][];
  readonly idempotencyKey: string;
};

/** The sealing key for passwords of Windows servers, and a new key that waits for an operator's approval. */
export function AgentKey({ view, region, tokens, idempotencyKey }: Props) {
  const text = view.messages.regionAdmin;
  const key = region.agent_key ?? null;
  return (
    <section class="panel" id="agent-key" aria-labelledby="agent-key-title">
      <div class="panel-head">
        <h2 id="agent-key-title">{text.agentKey}</h2>
        {key === null || key.pending === null ? null : <Status tone="warning">{text.agentKeyWaits}</Status>}
      </div>
      <p class="panel-lead">{text.agentKeyLead}</p>
      {key === null ? (
        <p class="hint">{text.noAgentKey}</p>
      ) : (
        <p>
          <code class="mono breakable">{key.fingerprint}</code>
          <LastReported view={view} at={key.last_reported_at} />
        </p>
      )}
      {key === null || key.pending === null ? null : (
        <Pending
          view={view}
          pending={key.pending}
          path={`/operator/regions/${region.slug}/agent-key`}
          token={tokens.find(({ id }) => id === key.pending?.token_id)?.name ?? key.pending.token_id}
          idempotencyKey={idempotencyKey}
        />
      )}
    </section>
  );
}

function Pending(props: {
  readonly view: View;
  readonly pending: NonNullable<Schemas["AgentKey"]["pending"]>;
  readonly path: string;
  /** Its name, if it is still known. */
  readonly token: string | null;
  readonly idempotencyKey: string;
}) {
  const { view, pending, path, token, idempotencyKey } = props;
  const text = view.messages.regionAdmin;
  return (
    <>
      <h3>{text.otherAgentKey}</h3>
      <p>
        <code class="mono breakable">{pending.fingerprint}</code>
        <LastReported view={view} at={pending.last_reported_at} />
      </p>
      <p class="hint">
        {text.agentKeySince} <When view={view} time={pending.since} /> ·{" "}
        {text.agentKeyTeller(pending.agent_name ?? "–", token ?? "–")}
      </p>
      <p>{text.agentKeyHint}</p>
      <div class="act-group">
        <details class="confirm">
          <summary class="button">{text.approveKey}</summary>
          <form method="post" action={`${path}/approve`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-approve-key`} />
            <input type="hidden" name="fingerprint" value={pending.fingerprint} />
            <p>
              <strong>{text.approveKeyQuestion}</strong>
            </p>
            <p class="hint">{text.approveKeyHint}</p>
            <button type="submit" class="button" data-kind="primary">
              {text.approveKey}
            </button>
          </form>
        </details>
        <details class="confirm">
          <summary class="button">{text.refuseKey}</summary>
          <form method="post" action={`${path}/refuse`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-refuse-key`} />
            <p>
              <strong>{text.refuseKeyQuestion}</strong>
            </p>
            <p class="hint">{text.refuseKeyHint}</p>
            <button type="submit" class="button" data-kind="danger">
              {text.refuseKey}
            </button>
          </form>
        </details>
      </div>
    </>
  );
}

function LastReported({ view, at }: { readonly view: View; readonly at: string | null }) {
  if (at === null) return null;
  return (
    <span class="hint">
      {" "}
      {view.messages.regionAdmin.agentKeyTold} <When view={view} time={at} />
    </span>
  );
}
