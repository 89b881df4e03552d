import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, FormSeal, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { serverCrumbs } from "../servers/crumbs.ts";
import type { LockPageProps } from "./props.ts";

/** An operator's lock of one server, on a page of its own, which customers cannot open. */
export function LockPage({ view, server, form, banner, idempotencyKey }: LockPageProps) {
  const { messages } = view;
  const text = messages.serverLock;
  const { locked } = server;
  const reason = form?.values.reason ?? locked?.reason ?? "";
  const path = { server_id: server.id };
  const calls = [
    { operation: "lockServer", path, body: { reason: reason || text.reasonPlaceholder } },
    { operation: "unlockServer", path },
  ] as const;
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
        api={<ApiDrawer view={view} calls={calls} />}
      />
      <PageNotice banner={banner} />
      <section class="panel" aria-labelledby="lock-title">
        <div class="panel-head">
          <h2 id="lock-title">{text.state}</h2>
          {locked === null ? (
            <Status tone="idle">{text.unlocked}</Status>
          ) : (
            <span class="status" data-tone="warning">
              <Icon name="lock" size={16} /> {text.lockedBy(locked.by.name ?? locked.by.type)}
            </span>
          )}
        </div>
        {locked === null ? null : (
          <p class="panel-lead">
            <When view={view} time={locked.at} />
          </p>
        )}
        <form class="form" method="post" action={`/operator/servers/${server.id}/lock`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-lock`} />
          <TextField
            view={view}
            name="reason"
            label={text.reason}
            value={reason}
            hint={text.reasonHint}
            problems={form?.problems ?? noProblems}
            required
            maxlength={500}
            rows={3}
            attributes={{ placeholder: text.reasonPlaceholder }}
          />
          <p class="hint">{text.goesOn}</p>
          <div class="acts">
            <button type="submit" class="button" data-kind={locked === null ? "danger" : undefined}>
              {locked === null ? text.submit : text.change}
            </button>
            {locked === null ? null : (
              <button
                type="submit"
                class="button"
                data-kind="primary"
                formaction={`/operator/servers/${server.id}/unlock`}
                formnovalidate
              >
                {text.unlock}
              </button>
            )}
          </div>
        </form>
      </section>
      {locked === null ? null : (
        <section class="panel" aria-labelledby="seen-title">
          <div class="panel-head">
            <h2 id="seen-title">{text.asCustomer}</h2>
          </div>
          <Banner kind="warning">{messages.operations.locked(locked.reason)}</Banner>
        </section>
      )}
    </Shell>
  );
}
