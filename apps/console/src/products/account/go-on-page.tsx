import type { View } from "../../layout/view.ts";
import { SignInCard } from "../sign-in/sign-in-card.tsx";

/** Leads on to a provider at once; who is not led follows the link. */
export function GoOnPage(props: { readonly view: View; readonly url: string; readonly label: string }) {
  const { view, url, label } = props;
  const text = view.messages.providers;
  return (
    <SignInCard view={view} title={text.goOn(label)} lead={text.goOnLead(label)} goOnTo={url}>
      <a class="button" data-kind="primary" data-size="wide" href={url}>
        {text.goOnLink(label)}
      </a>
    </SignInCard>
  );
}
