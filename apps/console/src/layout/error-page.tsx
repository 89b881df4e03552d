import type { Child } from "hono/jsx";
import { formTokenField } from "../csrf.ts";
import { Document } from "./document.tsx";
import { Mark } from "./mark.tsx";
import { Shell } from "./shell.tsx";
import type { View } from "./view.ts";

type Props = {
  readonly view: View;
  readonly title: string;
  readonly hint: string;
  readonly detail?: string | null;
  /** The request that was about to be sent: kept in the page so that nothing has to be typed again. */
  readonly resend?: { readonly action: string; readonly fields: URLSearchParams } | null;
  readonly retry?: boolean;
  /** The page of a form whose request did not succeed: it restores the input. */
  readonly formPage?: string | null;
  readonly children?: Child;
};

/** What went wrong, what it means, and how to continue. */
export function ErrorPage(props: Props) {
  const { view, title } = props;
  const isOfForm = props.formPage !== undefined && props.formPage !== null;
  if (view.session !== null)
    return (
      <Shell view={view} title={title} keepsForms={isOfForm}>
        <ErrorBody {...props} />
      </Shell>
    );
  return (
    <Document view={view} title={title} class="plain" keepsForms={isOfForm}>
      <main id="content">
        <Mark size={44} />
        <ErrorBody {...props} />
      </main>
    </Document>
  );
}

function ErrorBody({ view, title, hint, detail, resend, retry, formPage }: Props) {
  const { messages } = view;
  return (
    <div class="error-page">
      <h1>{title}</h1>
      <p class="lead">{hint}</p>
      {detail === null || detail === undefined ? null : <p>{detail}</p>}
      <div class="acts">
        {resend === null || resend === undefined ? (
          retry ? (
            <a class="button" data-kind="primary" href={view.path}>
              {messages.errors.retry}
            </a>
          ) : null
        ) : (
          <form method="post" action={resend.action}>
            <input type="hidden" name={formTokenField} value={view.formToken()} />
            {[...resend.fields].map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <button type="submit" class="button" data-kind="primary">
              {messages.errors.retry}
            </button>
          </form>
        )}
        {formPage === null || formPage === undefined ? null : (
          <a class="button" href={formPage}>
            {messages.errors.toForm}
          </a>
        )}
        <a class="button" href="/servers">
          {messages.errors.back}
        </a>
      </div>
      <p class="hint">
        {messages.errors.requestId} <code>{view.requestId}</code>
      </p>
    </div>
  );
}
