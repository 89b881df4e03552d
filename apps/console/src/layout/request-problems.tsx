import { Banner } from "./parts.tsx";
import type { View } from "./view.ts";

/** The texts that the script shows beside a form whose request failed (`browser/swaps.ts`). */
export function RequestProblems({ view }: { readonly view: View }) {
  const text = view.messages.requestProblems;
  return (
    <template id="request-problems">
      <div data-trouble="ended">
        <Banner kind="warning">
          {text.ended}{" "}
          <a href="/sign-in?why=ended" data-sign-in="">
            {text.signIn}
          </a>
        </Banner>
      </div>
      {(["forbidden", "gone", "away", "broken"] as const).map((trouble) => (
        <div data-trouble={trouble}>
          <Banner kind="problem">{text[trouble]}</Banner>
        </div>
      ))}
      <div data-trouble="kept">
        <Banner kind="notice">{text.kept}</Banner>
      </div>
    </template>
  );
}
