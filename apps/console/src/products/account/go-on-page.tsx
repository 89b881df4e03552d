import { Document } from "../../layout/document.tsx";
import { Mark } from "../../layout/mark.tsx";
import type { View } from "../../layout/view.ts";

/** Leads on to a provider at once; who is not led follows the link. */
export function GoOnPage(props: { readonly view: View; readonly url: string; readonly label: string }) {
  const { view, url, label } = props;
  const text = view.messages.providers;
  return (
    <Document view={view} title={text.goOn(label)} class="sign-in" goOnTo={url}>
      <main id="content">
        <div class="sign-in-card">
          <div class="sign-in-brand">
            <Mark size={44} />
            <p class="sign-in-name">{view.messages.product}</p>
          </div>
          <h1>{text.goOn(label)}</h1>
          <p class="lead">{text.goOnLead(label)}</p>
          <a class="button" data-kind="primary" data-size="wide" href={url}>
            {text.goOnLink(label)}
          </a>
        </div>
      </main>
    </Document>
  );
}
