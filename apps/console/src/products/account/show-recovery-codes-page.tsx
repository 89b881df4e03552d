import { CopyButton, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

/**
 * The codes, shown once, so that its one link says that they are stored: it has no breadcrumbs. Null: they were shown
 * before, and this is a repeat of the form.
 */
export function RecoveryCodesPage(props: { readonly view: View; readonly codes: readonly string[] | null }) {
  const { view, codes } = props;
  const text = view.messages.account;
  return (
    <Shell view={view} title={text.recoveryTitle}>
      <PageHead
        title={text.recoveryTitle}
        lead={codes === null ? text.recoveryWithheld : text.recoveryShown}
      />
      <section class="panel">
        {codes === null ? null : (
          <>
            <pre class="recovery-codes" id="recovery-codes" tabindex={0}>
              {codes.join("\n")}
            </pre>
            <CopyButton view={view} source="recovery-codes" />
          </>
        )}
        <p>
          <a class="button" data-kind="primary" href="/account/security">
            {text.recoverySaved}
          </a>
        </p>
      </section>
    </Shell>
  );
}
